use std::task::{Context, Poll};

use bytes::Bytes;
use http::{Request, header::CONTENT_TYPE};
use http_body::Body;
use plimsoll_wire::PeekSlot;
use tower_service::Service;

use super::PeekedBody;

/// Looks at the requests of the service below. See the [module docs](super).
#[derive(Clone, Debug)]
pub struct Peek<Inner> {
    inner: Inner,
    max_body: u64,
}

// === impl Peek ===

impl<Inner> Peek<Inner> {
    pub(super) fn new(inner: Inner, max_body: u64) -> Self {
        Self { inner, max_body }
    }

    inner_accessors!();
}

impl<Inner, B> Service<Request<B>> for Peek<Inner>
where
    Inner: Service<Request<PeekedBody<B>>>,
    B: Body<Data = Bytes>,
{
    type Response = Inner::Response;
    type Error = Inner::Error;
    type Future = Inner::Future;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(cx)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        // The meter leaves a slot in what it counts. Forms and files are not looked at.
        let slot = request.extensions().get::<PeekSlot>().filter(|_| may_be_json(&request));
        let slot = slot.cloned();
        self.inner.call(request.map(|body| PeekedBody::new(body, slot, self.max_body)))
    }
}

fn may_be_json<B>(request: &Request<B>) -> bool {
    let content_type = request.headers().get(CONTENT_TYPE);
    content_type.is_none_or(|value| {
        value.to_str().is_ok_and(|value| value.to_ascii_lowercase().contains("json"))
    })
}
