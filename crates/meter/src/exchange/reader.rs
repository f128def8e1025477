//! The answer's body, read as it passes.

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue,
    header::{CONTENT_ENCODING, CONTENT_TYPE},
    response,
};
use plimsoll_wire::{
    Endpoint,
    reply::{self, Asked, Reply, ReplyReader},
};
use tokio::time::Instant;

use super::{Ending, grpc::Grpc};
use crate::{Gaps, Outcome};

/// What reads the body of an answer, and what its events say about time.
#[derive(Default)]
pub(super) struct Reader {
    /// None for an error's body, and for one that means nothing here.
    reply: Option<ReplyReader>,
    /// The body is that of a success, and encoded.
    encoded: bool,
    grpc: Option<Grpc>,
    pub(super) is_stream: bool,
    /// Events that held text.
    pub(super) chunks: u64,
    /// Tokens that the events prove.
    pub(super) tokens: u64,
    pub(super) first_token: Option<Instant>,
    pub(super) last_token: Option<Instant>,
    pub(super) gaps: Gaps,
}

// === impl Reader ===

impl Reader {
    pub(super) fn new(endpoint: Endpoint, asked: Asked, parts: &response::Parts) -> Self {
        let grpc = Grpc::new(&parts.headers);
        let encoded = grpc.is_some() || is_encoded(&parts.headers);
        let is_stream = is_event_stream(&parts.headers);
        let readable = parts.status.is_success() && !encoded;
        Self {
            reply: readable.then(|| ReplyReader::new(endpoint, asked, is_stream)),
            encoded: encoded && parts.status.is_success(),
            grpc,
            is_stream,
            ..Self::default()
        }
    }

    pub(super) fn data(&mut self, data: &Bytes, now: Instant) {
        let Self { reply: Some(reply), chunks, tokens, .. } = self else {
            return;
        };
        let before = *chunks;
        reply.push(data, |facts| {
            *chunks += u64::from(facts.text);
            *tokens += facts.tokens;
        });
        if *chunks > before {
            self.first_token.get_or_insert(now);
            if let Some(last) = self.last_token.replace(now) {
                self.gaps.add(now - last);
            }
        }
    }

    pub(super) fn trailers(&mut self, trailers: &HeaderMap) {
        if let Some(grpc) = &mut self.grpc {
            grpc.trailers(trailers);
        }
    }

    /// What a gRPC call came to, its body ended.
    pub(super) fn grpc_outcome(&self) -> Option<Outcome> {
        self.grpc.as_ref().map(Grpc::outcome)
    }

    pub(super) fn is_worth_reading_on(&self) -> bool {
        self.reply.as_ref().is_some_and(|reply| !reply.is_terminated())
    }

    pub(super) fn finish(&mut self, ending: Ending) -> Reply {
        let Self { reply: Some(reply), chunks, tokens, .. } = self else {
            let terminated = ending == Ending::Ended;
            return Reply { terminated, unreadable: self.encoded, ..Reply::default() };
        };
        reply.finish(ending == Ending::Ended, |facts| {
            *chunks += u64::from(facts.text);
            *tokens += facts.tokens;
        })
    }
}

/// The body is encoded, whatever the encoding: that it can be read is not known.
pub(crate) fn is_encoded(headers: &HeaderMap) -> bool {
    reply::is_encoded(headers.get_all(CONTENT_ENCODING).iter().map(HeaderValue::as_bytes))
}

pub(crate) fn is_event_stream(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE);
    content_type.is_some_and(|value| reply::is_event_stream(value.as_bytes()))
}
