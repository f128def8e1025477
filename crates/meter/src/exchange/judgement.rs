//! How a request ended, and how far its counts can be trusted.

use http::StatusCode;
use plimsoll_wire::{Upstream, Usage, reply::Reply};

use super::{Ending, Exchange};
use crate::{Completeness, Outcome};

// === impl Exchange ===

impl Exchange {
    pub(super) fn outcome(&self, ending: Ending, reply: &Reply) -> Outcome {
        let upstream = |is: fn(&Upstream) -> bool| self.upstream.as_ref().is_some_and(is);
        match (self.status, ending) {
            _ if self.left || upstream(|way| way.client_left) => Outcome::ClientDisconnect,
            (None, Ending::Dropped) => Outcome::ClientDisconnect,
            (None, _) => Outcome::UpstreamError,
            _ if upstream(|way| way.refused) => Outcome::Rejected,
            (Some(status), _) if status.is_client_error() => Outcome::ClientError,
            (Some(status), _) if status.is_server_error() => Outcome::UpstreamError,
            _ if reply.error => Outcome::UpstreamError,
            // A client that has its whole answer may close before the last chunk's frame.
            _ if self.reader.is_stream && reply.terminated => Outcome::Complete,
            (_, Ending::Failed) => Outcome::UpstreamError,
            (_, Ending::Dropped) => Outcome::ClientDisconnect,
            (_, Ending::Ended) => self.reader.grpc_outcome().unwrap_or(match reply.terminated {
                true => Outcome::Complete,
                false => Outcome::Truncated,
            }),
        }
    }

    pub(super) fn completeness(&self, outcome: Outcome, reply: &Reply) -> Completeness {
        let succeeded = self.status.is_some_and(|status| StatusCode::is_success(&status));
        match outcome {
            _ if reply.unreadable => Completeness::Unreadable,
            _ if succeeded && reply.is_final => Completeness::Exact,
            Outcome::ClientDisconnect | Outcome::Truncated => Completeness::Partial,
            Outcome::UpstreamError if succeeded && (self.reader.is_stream || !reply.terminated) => {
                Completeness::Partial
            }
            _ => Completeness::Absent,
        }
    }

    /// The counts that are told, and a lower bound where they are not final.
    pub(super) fn usage(&self, completeness: Completeness, reply: &Reply) -> (Usage, Option<u64>) {
        let stated = reply.usage.unwrap_or_default();
        match completeness {
            Completeness::Exact => (stated, None),
            Completeness::Partial => {
                let seen = self.reader.tokens;
                let bound = seen.max(stated.completion.unwrap_or_default());
                // What was stated before the last text is no count of it.
                let completion = stated.completion.filter(|&completion| completion >= seen);
                (Usage { completion, ..stated }, Some(bound))
            }
            Completeness::Absent | Completeness::Unreadable => (Usage::default(), None),
        }
    }
}
