use std::{
    fmt,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project::pin_project;

use crate::{Sink, exchange::Ending, guard::Guard};

/// The response body of [`Meter`](crate::Meter): hands every frame on as it is.
#[pin_project]
pub struct MeteredBody<B, S: Sink> {
    #[pin]
    inner: B,
    /// There until the request is settled.
    guard: Option<Guard<S>>,
}

// === impl MeteredBody ===

impl<B: Body<Data = Bytes>, S: Sink> MeteredBody<B, S> {
    /// A body that is at its end already will perhaps never be polled: it settles here.
    pub(crate) fn new(inner: B, guard: Option<Guard<S>>) -> Self {
        let mut body = Self { inner, guard };
        if body.inner.is_end_stream() {
            settle(&mut body.guard, Ending::Ended);
        }
        body
    }
}

impl<B, S: Sink> MeteredBody<B, S> {
    /// The client left. Whether the counts would be better for reading on.
    pub(crate) fn leave(&mut self) -> bool {
        self.guard.as_mut().is_some_and(Guard::leave)
    }

    /// The body below.
    pub fn get_ref(&self) -> &B {
        &self.inner
    }

    /// The body below, mutably.
    pub fn get_mut(&mut self) -> &mut B {
        &mut self.inner
    }
}

impl<B: Body<Data = Bytes>, S: Sink> Body for MeteredBody<B, S> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let mut this = self.project();
        let frame = ready!(this.inner.as_mut().poll_frame(cx));
        match &frame {
            Some(Ok(frame)) => {
                if let Some(guard) = this.guard.as_mut() {
                    match (frame.data_ref(), frame.trailers_ref()) {
                        (Some(data), _) => guard.data(data),
                        (_, Some(trailers)) => guard.trailers(trailers),
                        _ => {}
                    }
                }
                // The body is not polled again after trailers, nor after the last byte of a known length.
                if frame.is_trailers() || this.inner.is_end_stream() {
                    settle(this.guard, Ending::Ended);
                }
            }
            Some(Err(_)) => settle(this.guard, Ending::Failed),
            None => settle(this.guard, Ending::Ended),
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

fn settle<S: Sink>(guard: &mut Option<Guard<S>>, ending: Ending) {
    if let Some(guard) = guard.take() {
        guard.settle(ending);
    }
}

impl<B: fmt::Debug, S: Sink> fmt::Debug for MeteredBody<B, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MeteredBody").field("inner", &self.inner).finish_non_exhaustive()
    }
}
