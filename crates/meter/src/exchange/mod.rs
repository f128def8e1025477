//! One request and its answer, as far as they have been seen.

mod reader;

use std::sync::Arc;

use bytes::Bytes;
use http::{StatusCode, response};
use plimsoll_wire::{Endpoint, PeekSlot, Upstream, reply::Reply, upstream::PrefillUsage};
use tokio::time::Instant;

use self::reader::Reader;
pub(crate) use self::reader::is_event_stream;
use crate::{Completeness, Outcome, Record, Timing, amend::Withheld};

/// How the body came to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// It was read to its end.
    Ended,
    /// The service or the body gave an error.
    Failed,
    /// It was dropped before its end.
    Dropped,
}

pub(crate) struct Exchange {
    endpoint: Endpoint,
    request: PeekSlot,
    started: Instant,
    status: Option<StatusCode>,
    upstream: Upstream,
    withheld: Option<Withheld>,
    first_byte: Option<Instant>,
    reader: Reader,
}

// === impl Exchange ===

impl Exchange {
    pub(crate) fn new(endpoint: Endpoint, request: PeekSlot) -> Self {
        Self {
            endpoint,
            request,
            started: Instant::now(),
            status: None,
            upstream: Upstream::default(),
            withheld: None,
            first_byte: None,
            reader: Reader::default(),
        }
    }

    pub(crate) fn endpoint(&self) -> Endpoint {
        self.endpoint
    }

    pub(crate) fn head(&mut self, parts: &response::Parts) {
        self.upstream = parts.extensions.get().cloned().unwrap_or_default();
        self.status = Some(parts.status).filter(|_| !self.upstream.client_left);
        self.withheld = parts.extensions.get().cloned();
        self.reader = Reader::new(self.endpoint, parts.status, &parts.headers);
    }

    pub(crate) fn data(&mut self, data: &Bytes) {
        let now = Instant::now();
        self.first_byte.get_or_insert(now);
        self.reader.data(data, now);
    }

    /// The record, and where the prefill worker's counts will come from if they are to be waited
    /// for.
    pub(crate) fn finish(mut self, ending: Ending) -> (Record, Option<PrefillUsage>) {
        let mut reply = self.reader.finish(ending);
        let withheld = self.withheld.as_ref().and_then(Withheld::get);
        reply.usage = withheld.or(reply.usage);
        let outcome = self.outcome(ending, &reply);
        let completeness = self.completeness(outcome, &reply);
        let (model, model_is_served) = self.model(reply.model.take());
        let since = |at: Instant| at - self.started;
        let is_stream = self.is_stream();
        let Reader { chunks, first_token, last_token, gaps, .. } = self.reader;
        let usage = reply.usage.unwrap_or_default();
        let record = Record {
            endpoint: self.endpoint,
            model,
            model_is_served,
            stream: is_stream,
            status: self.status.map(|status| status.as_u16()),
            outcome,
            completeness,
            usage,
            completion_lower_bound: (completeness == Completeness::Partial)
                .then(|| usage.completion.unwrap_or(chunks)),
            chunks,
            malformed: reply.malformed,
            timing: Timing {
                first_byte: self.first_byte.map(since),
                first_token: first_token.map(since),
                last_token: last_token.map(since),
                total: self.started.elapsed(),
            },
            gaps,
            upstream: self.upstream,
        };
        let prefill_usage = record.upstream.prefill_usage.clone();
        (record, prefill_usage)
    }

    fn outcome(&self, ending: Ending, reply: &Reply) -> Outcome {
        match (self.status, ending) {
            _ if self.upstream.client_left => Outcome::ClientDisconnect,
            (None, Ending::Dropped) => Outcome::ClientDisconnect,
            (None, _) => Outcome::UpstreamError,
            _ if self.upstream.refused => Outcome::Rejected,
            (Some(status), _) if status.is_client_error() => Outcome::ClientError,
            (Some(status), _) if status.is_server_error() => Outcome::UpstreamError,
            _ if reply.error => Outcome::UpstreamError,
            // A client that has its whole answer may close before the last chunk's frame.
            _ if self.reader.is_stream && reply.terminated => Outcome::Complete,
            (_, Ending::Failed) => Outcome::UpstreamError,
            (_, Ending::Dropped) => Outcome::ClientDisconnect,
            (_, Ending::Ended) if reply.terminated => Outcome::Complete,
            (_, Ending::Ended) => Outcome::Truncated,
        }
    }

    fn completeness(&self, outcome: Outcome, reply: &Reply) -> Completeness {
        let refused = matches!(outcome, Outcome::Rejected | Outcome::ClientError);
        let failed = self.status.is_none_or(|status| !status.is_success());
        match outcome {
            _ if reply.unreadable => Completeness::Unreadable,
            Outcome::ClientDisconnect | Outcome::Truncated => Completeness::Partial,
            Outcome::UpstreamError if !failed && !reply.terminated => Completeness::Partial,
            _ if refused || failed || reply.usage.is_none() => Completeness::Absent,
            _ => Completeness::Exact,
        }
    }

    fn is_stream(&self) -> bool {
        let asked = self.request.get().map(|request| request.stream);
        asked.unwrap_or(self.reader.is_stream)
    }

    fn model(&self, answered: Option<String>) -> (Option<Arc<str>>, bool) {
        if let Some(model) = self.request.served_model() {
            return (Some(model.clone()), true);
        }
        let asked = || self.request.get()?.model.as_deref().map(Arc::from);
        (answered.map(Arc::from).or_else(asked), false)
    }
}
