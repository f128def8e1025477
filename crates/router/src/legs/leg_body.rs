use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::idle::Idle;
use crate::{AttemptResult, LegError, RouteError, Worker, workers::Attempt};

/// One worker's answer as it comes. Dropping it before its end closes the connection.
#[derive(Debug)]
pub(crate) struct LegBody {
    inner: Incoming,
    attempt: Attempt,
    idle: Idle,
    failed: bool,
}

// === impl LegBody ===

impl LegBody {
    pub(super) fn new(inner: Incoming, mut attempt: Attempt, idle: Idle) -> Self {
        if inner.is_end_stream() {
            attempt.settle(AttemptResult::Ok);
        }
        Self { inner, attempt, idle, failed: false }
    }

    pub(crate) fn worker(&self) -> &Arc<Worker> {
        self.attempt.worker()
    }

    /// The worker reported an error within its answer.
    pub(super) fn report(&mut self) -> RouteError {
        self.attempt.settle(AttemptResult::Status5xx);
        let worker = self.attempt.worker();
        tracing::warn!("{} worker {} reported an error", worker.role(), worker.url());
        RouteError::PrefillReported { worker: worker.url().to_string() }
    }

    fn fail(&mut self, error: LegError) -> RouteError {
        self.failed = true;
        self.attempt.fail(error)
    }
}

impl Body for LegBody {
    type Data = Bytes;
    type Error = RouteError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RouteError>>> {
        if self.failed {
            return Poll::Ready(None);
        }
        let frame = match Pin::new(&mut self.inner).poll_frame(cx) {
            Poll::Ready(frame) => frame,
            Poll::Pending if self.idle.poll(cx).is_pending() => return Poll::Pending,
            Poll::Pending => {
                let limit = self.idle.limit();
                return Poll::Ready(Some(Err(self.fail(LegError::Idle(limit)))));
            }
        };
        self.idle.touch();
        if self.inner.is_end_stream() {
            self.attempt.settle(AttemptResult::Ok);
        }
        Poll::Ready(match frame {
            Some(Err(error)) => Some(Err(self.fail(LegError::BrokenOff(error)))),
            Some(Ok(frame)) => Some(Ok(frame)),
            None => {
                self.attempt.settle(AttemptResult::Ok);
                None
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.failed || self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
