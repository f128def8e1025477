use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{
    Request, Response,
    header::{CONTENT_ENCODING, CONTENT_LENGTH},
    request,
};
use http_body::Body;
use pin_project::pin_project;
use plimsoll_wire::{PeekSlot, Splice};
use tower_service::Service;

use super::{
    AmendedBody, RequestBody, Withheld,
    collect::{Collect, Collected},
};
use crate::exchange::is_event_stream;

/// The response future of [`Amend`](super::Amend).
#[pin_project]
pub struct AmendFuture<Inner, B>
where
    Inner: Service<Request<RequestBody<B>>>,
    B: Body,
{
    #[pin]
    state: State<Inner, B>,
}

#[pin_project(project = StateProj)]
#[expect(clippy::large_enum_variant, reason = "a box would cost each request an allocation")]
enum State<Inner, B>
where
    Inner: Service<Request<RequestBody<B>>>,
    B: Body,
{
    Collecting {
        body: Collect<B>,
        /// There until the body is read.
        waiting: Option<(Inner, request::Parts)>,
    },
    Calling {
        #[pin]
        response: Inner::Future,
        /// The answer will hold an event that the client did not ask for.
        asked: bool,
    },
}

// === impl AmendFuture ===

impl<Inner, B> AmendFuture<Inner, B>
where
    Inner: Service<Request<RequestBody<B>>>,
    B: Body<Data = Bytes> + Unpin,
{
    /// Hands a request on as it is.
    pub(super) fn pass(inner: &mut Inner, request: Request<B>) -> Self {
        let response = inner.call(request.map(RequestBody::unread));
        Self { state: State::Calling { response, asked: false } }
    }

    /// Reads the body, then calls `inner`, which was polled ready.
    pub(super) fn collect(inner: Inner, request: Request<B>, max_body: u64) -> Self {
        let (parts, body) = request.into_parts();
        let body = Collect::new(body, max_body);
        Self { state: State::Collecting { body, waiting: Some((inner, parts)) } }
    }
}

impl<Inner, B, ResB> Future for AmendFuture<Inner, B>
where
    Inner: Service<Request<RequestBody<B>>, Response = Response<ResB>>,
    B: Body<Data = Bytes> + Unpin,
    ResB: Body<Data = Bytes>,
{
    type Output = Result<Response<AmendedBody<ResB>>, Inner::Error>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        loop {
            match this.state.as_mut().project() {
                StateProj::Collecting { body, waiting } => {
                    let collected = ready!(body.poll(cx));
                    let Some((mut inner, mut parts)) = waiting.take() else {
                        return Poll::Pending;
                    };
                    let (body, asked) = amend(&mut parts, collected);
                    let response = inner.call(Request::from_parts(parts, body));
                    this.state.set(State::Calling { response, asked });
                }
                StateProj::Calling { response, asked } => {
                    let response = ready!(response.poll(cx))?;
                    return Poll::Ready(Ok(withhold(response, *asked)));
                }
            }
        }
    }
}

/// The body that asks for counts, and whether it does so in the client's stead.
fn amend<B: Body>(parts: &mut request::Parts, collected: Collected<B>) -> (RequestBody<B>, bool) {
    let whole = match collected {
        Collected::Unread(body) => return (body, false),
        Collected::Whole(whole) => whole,
    };
    let slot = parts.extensions.get_or_insert_default::<PeekSlot>();
    let streamed = slot.read(&whole).ok().filter(|request| request.stream);
    let Some(edited) = streamed.and_then(|request| request.with_usage_asked(&whole)) else {
        return (Splice::from(whole).into(), false);
    };
    // The length that the client stated is no longer the body's.
    parts.headers.remove(CONTENT_LENGTH);
    (edited.into(), true)
}

fn withhold<B: Body<Data = Bytes>>(response: Response<B>, asked: bool) -> Response<AmendedBody<B>> {
    let (mut parts, body) = response.into_parts();
    let readable = is_event_stream(&parts.headers) && !parts.headers.contains_key(CONTENT_ENCODING);
    if !(asked && readable) {
        return Response::from_parts(parts, AmendedBody::pass(body));
    }
    let withheld = Withheld::default();
    parts.headers.remove(CONTENT_LENGTH);
    parts.extensions.insert(withheld.clone());
    Response::from_parts(parts, AmendedBody::withholding(body, withheld))
}

impl<Inner, B> fmt::Debug for AmendFuture<Inner, B>
where
    Inner: Service<Request<RequestBody<B>>>,
    B: Body,
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AmendFuture").finish_non_exhaustive()
    }
}
