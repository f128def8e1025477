use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use crate::{
    AttemptResult, LegError, RouteError, Worker, client::AnswerBody, idle::Idle, workers::Attempt,
};

/// One worker's answer as it comes. Dropping it before its end closes the connection.
#[derive(Debug)]
pub(crate) struct LegBody {
    inner: AnswerBody,
    attempt: Attempt,
    idle: Idle,
    is_success: bool,
    failed: bool,
}

// === impl LegBody ===

impl LegBody {
    pub(super) fn new(inner: AnswerBody, attempt: Attempt, idle: Idle, is_success: bool) -> Self {
        let mut body = Self { inner, attempt, idle, is_success, failed: false };
        if body.inner.is_end_stream() {
            body.note_end();
        }
        body
    }

    pub(crate) fn worker(&self) -> &Arc<Worker> {
        self.attempt.worker()
    }

    /// Who is to blame if this is an error.
    pub(crate) fn culprit(&self) -> &Arc<Worker> {
        self.attempt.culprit()
    }

    /// The other leg failed so.
    pub(crate) fn blame(&mut self, error: &RouteError) {
        self.attempt.blame(error, false);
    }

    /// The answer, which is whole, is good.
    pub(super) fn accept(&mut self) {
        self.attempt.accept();
    }

    /// The worker failed within its answer, as `error` says.
    pub(super) fn report(&mut self, error: impl FnOnce(Arc<str>) -> RouteError) -> RouteError {
        self.attempt.settle(AttemptResult::Status5xx);
        let error = error(self.attempt.worker().url().clone());
        tracing::warn!("{error}");
        error
    }

    /// The answer is whole.
    fn note_end(&mut self) {
        self.attempt.settle(AttemptResult::Ok);
        if self.is_success {
            self.attempt.prove();
        }
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
        Poll::Ready(match frame {
            Some(Err(error)) => Some(Err(self.fail(LegError::BrokenOff(error)))),
            Some(Ok(frame)) => {
                if self.is_success {
                    self.attempt.note_byte();
                }
                if self.inner.is_end_stream() {
                    self.note_end();
                }
                Some(Ok(frame))
            }
            None => {
                self.note_end();
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
