use std::{
    fmt,
    future::poll_fn,
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};

use super::Limits;
use crate::{MeteredBody, Sink};

/// The response body of [`Drain`](super::Drain). Dropped before its end, it is read on by a task of
/// its own.
pub struct DrainedBody<B, S>
where
    B: Body<Data = Bytes> + Unpin + Send + 'static,
    S: Sink,
{
    /// There until it is dropped.
    inner: Option<MeteredBody<B, S>>,
    limits: Limits,
}

// === impl DrainedBody ===

impl<B, S> DrainedBody<B, S>
where
    B: Body<Data = Bytes> + Unpin + Send + 'static,
    S: Sink,
{
    pub(super) fn new(inner: MeteredBody<B, S>, limits: Limits) -> Self {
        Self { inner: Some(inner), limits }
    }
}

impl<B, S> Body for DrainedBody<B, S>
where
    B: Body<Data = Bytes> + Unpin + Send + 'static,
    S: Sink,
{
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        match &mut self.inner {
            Some(inner) => Pin::new(inner).poll_frame(cx),
            None => Poll::Ready(None),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.inner.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.as_ref().map_or(SizeHint::with_exact(0), Body::size_hint)
    }
}

impl<B, S> Drop for DrainedBody<B, S>
where
    B: Body<Data = Bytes> + Unpin + Send + 'static,
    S: Sink,
{
    fn drop(&mut self) {
        let Some(mut inner) = self.inner.take() else { return };
        self.limits.run(|| inner.leave().then(|| read(inner)));
    }
}

/// Reads a body to its end, for nobody.
pub(super) async fn read<B: Body<Data = Bytes> + Unpin>(mut body: B) {
    while let Some(Ok(_)) = poll_fn(|cx| Pin::new(&mut body).poll_frame(cx)).await {}
}

impl<B, S> fmt::Debug for DrainedBody<B, S>
where
    B: Body<Data = Bytes> + Unpin + Send + 'static,
    S: Sink,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DrainedBody").finish_non_exhaustive()
    }
}
