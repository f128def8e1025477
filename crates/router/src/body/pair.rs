use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::RelayBody;
use crate::{RouteError, legs::prefill::Tail};

/// Decode's answer, and prefill's leg beside it: read on, and a failure of it ends a stream at once
/// instead of leaving decode to wait for a KV cache that will not come.
#[derive(Debug)]
pub(crate) struct PairBody {
    decode: RelayBody,
    prefill: Tail,
}

// === impl PairBody ===

impl PairBody {
    pub(crate) fn new(decode: RelayBody, prefill: Tail) -> Self {
        let mut body = Self { decode, prefill };
        body.note_end();
        body
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
            // A JSON answer that has begun is complete but for its way here.
            if self.decode.is_stream() && !self.decode.is_answered() {
                return Poll::Ready(Some(self.decode.end_by(failure.into_error())));
            }
        }
        let frame = ready!(Pin::new(&mut self.decode).poll_frame(cx));
        self.note_end();
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.decode.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.decode.size_hint()
    }
}
