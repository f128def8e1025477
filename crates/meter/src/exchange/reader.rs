//! The answer's body, read as it passes.

use std::sync::Arc;

use bytes::Bytes;
use http::{
    HeaderMap, HeaderValue, StatusCode,
    header::{CONTENT_ENCODING, CONTENT_TYPE},
};
use plimsoll_wire::{
    Endpoint, Usage,
    reply::{self, StreamReader},
};
use tokio::time::Instant;

use super::Ending;
use crate::Gaps;

/// How many bytes of a JSON answer are kept until its end, to be read then: 32 MiB. They are the
/// frames that pass, not copies.
const MAX_ANSWER: usize = 32 << 20;

/// What reads the body, by its form.
pub(super) enum Reader {
    /// No body, or none that is read.
    Blind,
    /// Bytes that mean nothing here: encoded, or too many.
    Unreadable,
    Stream(Box<Stream>),
    Answer {
        frames: Vec<Bytes>,
        length: usize,
    },
}

pub(super) struct Stream {
    reader: StreamReader,
    pub(super) chunks: u64,
    pub(super) first_token: Option<Instant>,
    pub(super) last_token: Option<Instant>,
    pub(super) gaps: Gaps,
}

/// What the body said, all in all.
#[derive(Default)]
pub(super) struct Reading {
    pub(super) model: Option<Arc<str>>,
    pub(super) usage: Option<Usage>,
    pub(super) error: bool,
    pub(super) malformed: u64,
    /// The terminal marker was seen; always, for an answer that is no stream.
    pub(super) terminated: bool,
}

// === impl Reader ===

impl Reader {
    pub(super) fn new(endpoint: Endpoint, status: StatusCode, headers: &HeaderMap) -> Self {
        if !status.is_success() {
            return Self::Blind;
        }
        if headers
            .get(CONTENT_ENCODING)
            .is_some_and(|encoding| encoding != "identity")
        {
            return Self::Unreadable;
        }
        if is_event_stream(headers) {
            return Self::Stream(Box::new(Stream::new(endpoint)));
        }
        Self::Answer {
            frames: Vec::new(),
            length: 0,
        }
    }

    pub(super) fn data(&mut self, data: &Bytes, now: Instant) {
        match self {
            Self::Blind | Self::Unreadable => {}
            Self::Stream(stream) => stream.data(data, now),
            Self::Answer { frames, length } => {
                *length += data.len();
                if *length > MAX_ANSWER {
                    *self = Self::Unreadable;
                } else {
                    frames.push(data.clone());
                }
            }
        }
    }

    pub(super) fn finish(&mut self, endpoint: Endpoint, ending: Ending) -> Reading {
        match self {
            Self::Stream(stream) => stream.finish(),
            Self::Answer { frames, length } if *length > 0 && ending == Ending::Ended => {
                read_answer(endpoint, frames)
            }
            Self::Blind | Self::Unreadable | Self::Answer { .. } => Reading::without_marker(),
        }
    }

    pub(super) fn is_unreadable(&self) -> bool {
        matches!(self, Self::Unreadable)
    }

    pub(super) fn stream(&self) -> Option<&Stream> {
        match self {
            Self::Stream(stream) => Some(stream),
            Self::Blind | Self::Unreadable | Self::Answer { .. } => None,
        }
    }
}

fn read_answer(endpoint: Endpoint, frames: &[Bytes]) -> Reading {
    let joined;
    let body: &[u8] = if let [whole] = frames {
        whole
    } else {
        joined = frames.concat();
        &joined
    };
    let answer = reply::read_answer(endpoint, body);
    Reading {
        model: answer.model.map(Arc::from),
        usage: answer.usage,
        error: answer.error,
        malformed: u64::from(answer.malformed),
        ..Reading::without_marker()
    }
}

pub(crate) fn is_event_stream(headers: &HeaderMap) -> bool {
    let content_type = headers.get(CONTENT_TYPE).map(HeaderValue::as_bytes);
    content_type.is_some_and(|value| {
        let essence = value.split(|&byte| byte == b';').next().unwrap_or_default();
        essence
            .trim_ascii()
            .eq_ignore_ascii_case(b"text/event-stream")
    })
}

// === impl Stream ===

impl Stream {
    fn new(endpoint: Endpoint) -> Self {
        Self {
            reader: StreamReader::new(endpoint),
            chunks: 0,
            first_token: None,
            last_token: None,
            gaps: Gaps::default(),
        }
    }

    fn data(&mut self, data: &[u8], now: Instant) {
        let before = self.chunks;
        self.reader
            .push(data, |facts| self.chunks += u64::from(facts.text));
        if self.chunks > before {
            self.first_token.get_or_insert(now);
            if let Some(last) = self.last_token.replace(now) {
                self.gaps.add(now - last);
            }
        }
    }

    fn finish(&mut self) -> Reading {
        self.reader
            .finish(|facts| self.chunks += u64::from(facts.text));
        Reading {
            model: self.reader.model().map(Arc::from),
            usage: self.reader.usage(),
            error: self.reader.has_error(),
            malformed: self.reader.malformed(),
            terminated: self.reader.is_terminated(),
        }
    }
}

// === impl Reading ===

impl Reading {
    /// What is no stream has no terminal marker to miss.
    fn without_marker() -> Self {
        Self {
            terminated: true,
            ..Self::default()
        }
    }
}
