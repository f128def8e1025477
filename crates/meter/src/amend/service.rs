use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Method, Request, Response, header::CONTENT_LENGTH};
use http_body::Body;
use plimsoll_wire::{Endpoint, PeekSlot};
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

    inner_accessors!();
}

impl<Inner, B, ResB> Service<Request<B>> for Amend<Inner>
where
    Inner: Service<Request<RequestBody<B>>, Response = Response<ResB>>,
    B: Body<Data = Bytes> + Unpin,
    ResB: Body<Data = Bytes>,
{
    type Response = Response<AmendedBody<ResB>>;
    type Error = Inner::Error;
    type Future = AmendFuture<Inner::Future>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        let endpoint = Endpoint::from_path(request.uri().path());
        let streams = endpoint.is_some_and(Endpoint::has_stream_options);
        let max_body = self.max_body.filter(|_| streams && request.method() == Method::POST);
        let Some(max_body) = max_body else {
            return AmendFuture::new(self.inner.call(request.map(RequestBody::pass)), None);
        };
        let slot = request.extensions_mut().get_or_insert_default::<PeekSlot>().clone();
        // The length that the client states may not be that of the amended body.
        request.headers_mut().remove(CONTENT_LENGTH);
        let request = request.map(|body| RequestBody::amend(body, slot.clone(), max_body));
        AmendFuture::new(self.inner.call(request), Some(slot))
    }
}
