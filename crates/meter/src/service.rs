use std::{
    fmt,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body::Body;
use tower_service::Service;

use crate::{MeteredBody, MeteredFuture, Sink, exchange::Exchange, guard::Guard, layer::Options};

/// Accounts for the requests of the service below. See the [crate docs](crate).
pub struct Meter<Inner, S> {
    inner: Inner,
    sink: Arc<S>,
    options: Options,
}

// === impl Meter ===

impl<Inner, S> Meter<Inner, S> {
    pub(crate) fn new(inner: Inner, sink: Arc<S>, options: Options) -> Self {
        Self { inner, sink, options }
    }

    inner_accessors!();
}

impl<Inner, S, B, ResB> Service<Request<B>> for Meter<Inner, S>
where
    Inner: Service<Request<B>, Response = Response<ResB>>,
    S: Sink,
    ResB: Body<Data = Bytes>,
{
    type Response = Response<MeteredBody<ResB, S>>;
    type Error = Inner::Error;
    type Future = MeteredFuture<Inner::Future, S>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        // A browser asks by OPTIONS whether it may ask: no request yet.
        let asks = request.method() != Method::OPTIONS;
        let endpoint = (self.options.classify)(request.uri().path()).filter(|_| asks);
        let guard = endpoint.map(|endpoint| {
            let exchange = Exchange::new(endpoint, &mut request, &self.options);
            Guard::new(self.sink.clone(), exchange)
        });
        MeteredFuture::new(self.inner.call(request), guard)
    }
}

impl<Inner: Clone, S> Clone for Meter<Inner, S> {
    fn clone(&self) -> Self {
        let Self { inner, sink, options } = self;
        Self { inner: inner.clone(), sink: sink.clone(), options: options.clone() }
    }
}

impl<Inner: fmt::Debug, S> fmt::Debug for Meter<Inner, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Meter").field("inner", &self.inner).finish_non_exhaustive()
    }
}
