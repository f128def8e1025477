use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{Response, header::CONTENT_LENGTH};
use http_body::Body;
use pin_project::pin_project;
use plimsoll_wire::{PeekSlot, RequestPeek};

use super::{AmendedBody, Withheld};
use crate::exchange::{is_encoded, is_event_stream};

/// The response future of [`Amend`](super::Amend).
#[pin_project]
pub struct AmendFuture<F> {
    #[pin]
    inner: F,
    /// Says by the time of the answer what was asked for; not there where nothing is amended.
    slot: Option<PeekSlot>,
}

// === impl AmendFuture ===

impl<F> AmendFuture<F> {
    pub(super) fn new(inner: F, slot: Option<PeekSlot>) -> Self {
        Self { inner, slot }
    }
}

impl<F, B, E> Future for AmendFuture<F>
where
    F: Future<Output = Result<Response<B>, E>>,
    B: Body<Data = Bytes>,
{
    type Output = Result<Response<AmendedBody<B>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let response = ready!(this.inner.poll(cx))?;
        let asked = this.slot.as_ref().and_then(PeekSlot::get);
        let asked = asked.is_some_and(RequestPeek::usage_is_to_be_asked);
        Poll::Ready(Ok(withhold(response, asked)))
    }
}

fn withhold<B: Body<Data = Bytes>>(response: Response<B>, asked: bool) -> Response<AmendedBody<B>> {
    let (mut parts, body) = response.into_parts();
    let readable = is_event_stream(&parts.headers) && !is_encoded(&parts.headers);
    if !(asked && readable) {
        return Response::from_parts(parts, AmendedBody::pass(body));
    }
    let withheld = Withheld::default();
    parts.headers.remove(CONTENT_LENGTH);
    parts.extensions.insert(withheld.clone());
    Response::from_parts(parts, AmendedBody::withholding(body, withheld))
}

impl<F> fmt::Debug for AmendFuture<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AmendFuture").finish_non_exhaustive()
    }
}
