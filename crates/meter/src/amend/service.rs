use std::{
    mem,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{Method, Request, Response};
use http_body::Body;
use plimsoll_wire::Endpoint;
use tower_service::Service;

use super::{AmendFuture, AmendedBody, RequestBody};

/// Asks the service below for token counts. See the [module docs](super).
#[derive(Clone, Debug)]
pub struct Amend<Inner> {
    inner: Inner,
    /// None if it is switched off.
    max_body: Option<u64>,
}

// === impl Amend ===

impl<Inner> Amend<Inner> {
    pub(super) fn new(inner: Inner, max_body: Option<u64>) -> Self {
        Self { inner, max_body }
    }

    /// The service below.
    pub fn get_ref(&self) -> &Inner {
        &self.inner
    }

    /// The service below, mutably.
    pub fn get_mut(&mut self) -> &mut Inner {
        &mut self.inner
    }

    /// The service below, this one taken off.
    pub fn into_inner(self) -> Inner {
        self.inner
    }
}

impl<Inner, B, ResB> Service<Request<B>> for Amend<Inner>
where
    Inner: Service<Request<RequestBody<B>>, Response = Response<ResB>> + Clone,
    B: Body<Data = Bytes> + Unpin,
    ResB: Body<Data = Bytes>,
{
    type Response = Response<AmendedBody<ResB>>;
    type Error = Inner::Error;
    type Future = AmendFuture<Inner, B>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let max_body = self.max_body.filter(|&max_body| {
            request.method() == Method::POST
                && Endpoint::from_path(request.uri().path())
                    .is_some_and(Endpoint::has_stream_options)
                && request.body().size_hint().lower() <= max_body
        });
        let Some(max_body) = max_body else {
            return AmendFuture::pass(&mut self.inner, request);
        };
        // The body is read first: the service that was polled ready waits in the future.
        let clone = self.inner.clone();
        let ready = mem::replace(&mut self.inner, clone);
        AmendFuture::collect(ready, request, max_body)
    }
}
