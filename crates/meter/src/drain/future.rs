use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::Response;
use http_body::Body;

use super::{DrainedBody, Limits, body::read};
use crate::{MeteredFuture, Sink};

/// The response future of [`Drain`](super::Drain). Dropped before the answer's head, it waits for
/// that, and for the answer, on a task of its own.
pub struct DrainFuture<F, ResB, S, E>
where
    F: Future<Output = Result<Response<ResB>, E>> + Unpin + Send + 'static,
    ResB: Body<Data = Bytes> + Unpin + Send + 'static,
    S: Sink,
    E: Send + 'static,
{
    /// There until it is ready.
    inner: Option<MeteredFuture<F, S>>,
    limits: Limits,
}

// === impl DrainFuture ===

impl<F, ResB, S, E> DrainFuture<F, ResB, S, E>
where
    F: Future<Output = Result<Response<ResB>, E>> + Unpin + Send + 'static,
    ResB: Body<Data = Bytes> + Unpin + Send + 'static,
    S: Sink,
    E: Send + 'static,
{
    pub(super) fn new(inner: MeteredFuture<F, S>, limits: Limits) -> Self {
        Self { inner: Some(inner), limits }
    }
}

impl<F, ResB, S, E> Future for DrainFuture<F, ResB, S, E>
where
    F: Future<Output = Result<Response<ResB>, E>> + Unpin + Send + 'static,
    ResB: Body<Data = Bytes> + Unpin + Send + 'static,
    S: Sink,
    E: Send + 'static,
{
    type Output = Result<Response<DrainedBody<ResB, S>>, E>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = &mut *self;
        let Some(inner) = &mut this.inner else { return Poll::Pending };
        let result = ready!(Pin::new(inner).poll(cx));
        this.inner = None;
        Poll::Ready(
            result.map(|response| response.map(|body| DrainedBody::new(body, this.limits.clone()))),
        )
    }
}

impl<F, ResB, S, E> Drop for DrainFuture<F, ResB, S, E>
where
    F: Future<Output = Result<Response<ResB>, E>> + Unpin + Send + 'static,
    ResB: Body<Data = Bytes> + Unpin + Send + 'static,
    S: Sink,
    E: Send + 'static,
{
    fn drop(&mut self) {
        let Some(mut inner) = self.inner.take() else { return };
        self.limits.run(|| {
            inner.leave().then_some(async move {
                if let Ok(response) = inner.await {
                    read(response.into_body()).await;
                }
            })
        });
    }
}

impl<F, ResB, S, E> fmt::Debug for DrainFuture<F, ResB, S, E>
where
    F: Future<Output = Result<Response<ResB>, E>> + Unpin + Send + 'static,
    ResB: Body<Data = Bytes> + Unpin + Send + 'static,
    S: Sink,
    E: Send + 'static,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DrainFuture").finish_non_exhaustive()
    }
}
