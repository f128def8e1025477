use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use tower_service::Service;

use super::{DrainFuture, DrainedBody, Limits};
use crate::{MeteredBody, MeteredFuture, Sink};

/// Reads answers to their end whose clients have left. See the [module docs](super).
#[derive(Clone, Debug)]
pub struct Drain<Inner> {
    inner: Inner,
    limits: Limits,
}

// === impl Drain ===

impl<Inner> Drain<Inner> {
    pub(super) fn new(inner: Inner, limits: Limits) -> Self {
        Self { inner, limits }
    }

    inner_accessors!();
}

impl<Inner, F, B, ResB, S, E> Service<Request<B>> for Drain<Inner>
where
    Inner: Service<
            Request<B>,
            Response = Response<MeteredBody<ResB, S>>,
            Error = E,
            Future = MeteredFuture<F, S>,
        >,
    F: Future<Output = Result<Response<ResB>, E>> + Unpin + Send + 'static,
    ResB: Body<Data = Bytes> + Unpin + Send + 'static,
    S: Sink,
    E: Send + 'static,
{
    type Response = Response<DrainedBody<ResB, S>>;
    type Error = E;
    type Future = DrainFuture<F, ResB, S, E>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), E>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        DrainFuture::new(self.inner.call(request), self.limits.clone())
    }
}
