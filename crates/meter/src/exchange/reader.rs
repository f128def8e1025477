//! The answer's body, read as it passes.

use bytes::Bytes;
use http::{
    HeaderMap, StatusCode,
    header::{CONTENT_ENCODING, CONTENT_TYPE},
};
use plimsoll_wire::{
    Endpoint,
    reply::{self, Reply, ReplyReader},
};
use tokio::time::Instant;

use super::Ending;
use crate::Gaps;

/// What reads the body of an answer, and what its events say about time.
#[derive(Default)]
pub(super) struct Reader {
    /// None for an error's body, and for one that means nothing here.
    reply: Option<ReplyReader>,
    /// The body is encoded.
    encoded: bool,
    pub(super) is_stream: bool,
    /// Events that held text.
    pub(super) chunks: u64,
    pub(super) first_token: Option<Instant>,
    pub(super) last_token: Option<Instant>,
    pub(super) gaps: Gaps,
}

// === impl Reader ===

impl Reader {
    pub(super) fn new(endpoint: Endpoint, status: StatusCode, headers: &HeaderMap) -> Self {
        let encoded = headers.get(CONTENT_ENCODING).is_some_and(|encoding| encoding != "identity");
        let readable = status.is_success() && !encoded;
        let is_stream = is_event_stream(headers);
        Self {
            reply: readable.then(|| ReplyReader::new(endpoint, is_stream)),
            encoded: encoded && status.is_success(),
            is_stream,
            ..Self::default()
        }
    }

    pub(super) fn data(&mut self, data: &Bytes, now: Instant) {
        let Self { reply: Some(reply), chunks, .. } = self else {
            return;
        };
        let before = *chunks;
        reply.push(data, |facts| *chunks += u64::from(facts.text));
        if *chunks > before {
            self.first_token.get_or_insert(now);
            if let Some(last) = self.last_token.replace(now) {
                self.gaps.add(now - last);
            }
        }
    }

    pub(super) fn finish(&mut self, ending: Ending) -> Reply {
        let Self { reply: Some(reply), chunks, .. } = self else {
            let terminated = ending == Ending::Ended;
            return Reply { terminated, unreadable: self.encoded, ..Reply::default() };
        };
        reply.finish(ending == Ending::Ended, |facts| *chunks += u64::from(facts.text))
    }
}

pub(crate) fn is_event_stream(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE);
    content_type.is_some_and(|value| reply::is_event_stream(value.as_bytes()))
}
