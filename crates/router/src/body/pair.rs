use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::RelayBody;
use crate::{RouteError, legs::prefill::Tail};

/// Decode's answer, and prefill's leg beside it: read on, and a failure of it ends the answer as soon
/// as decode has nothing more to give, instead of leaving decode to wait for a KV cache that will not
/// come.
#[derive(Debug)]
pub(crate) struct PairBody {
    decode: RelayBody,
    prefill: Tail,
    /// Prefill failed, and decode's answer is not whole.
    failure: Option<RouteError>,
}

// === impl PairBody ===

impl PairBody {
    pub(crate) fn new(decode: RelayBody, prefill: Tail) -> Self {
        let mut body = Self { decode, prefill, failure: None };
        body.note_end();
        body
    }

    /// Ends the answer by an error.
    pub(super) fn end_by(&mut self, error: RouteError) -> Result<Frame<Bytes>, RouteError> {
        self.decode.end_by(error)
    }

    fn note_end(&mut self) {
        if self.decode.is_answered() {
            self.prefill.set_answered();
        }
    }
}

impl Body for PairBody {
    type Data = Bytes;
    type Error = RouteError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RouteError>>> {
        if let Poll::Ready(failure) = self.prefill.poll_failure(cx) {
            self.failure = Some(failure.into_error());
        }
        let frame = Pin::new(&mut self.decode).poll_frame(cx);
        self.note_end();
        match (frame, self.failure.take()) {
            (Poll::Pending, Some(failure)) if !self.decode.is_answered() => {
                Poll::Ready(Some(self.decode.end_by(failure)))
            }
            (frame, failure) => {
                self.failure = failure;
                frame
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.decode.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.decode.size_hint()
    }
}
