//! An engine without sockets: its answers are there at once, so what is measured is the layers.

use std::{
    convert::Infallible,
    future::{self, Future},
    pin::{Pin, pin},
    sync::Arc,
    task::{Context, Poll, Waker},
};

use bytes::Bytes;
use http::{Request, Response};
use http_body::{Body, Frame};
use http_body_util::Full;
use tower_service::Service;

/// Reads every request to its end and answers with the same body.
#[derive(Clone, Debug)]
pub struct Engine {
    script: Arc<[Bytes]>,
    content_type: &'static str,
}

/// A response body that yields the pieces of a script, never pending.
#[derive(Debug)]
pub struct ScriptedBody {
    script: Arc<[Bytes]>,
    next: usize,
}

// === impl Engine ===

impl Engine {
    /// An engine whose streams consist of these pieces.
    pub fn new(script: Vec<Bytes>) -> Self {
        Self { script: script.into(), content_type: "text/event-stream; charset=utf-8" }
    }

    /// An engine that answers with this JSON, in one piece.
    pub fn of_answer(answer: Bytes) -> Self {
        Self { script: [answer].into(), content_type: "application/json" }
    }
}

impl<B> Service<Request<B>> for Engine
where
    B: Body<Data = Bytes, Error = Infallible> + Unpin,
{
    type Response = Response<ScriptedBody>;
    type Error = Infallible;
    type Future = future::Ready<Result<Self::Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, mut request: Request<B>) -> Self::Future {
        // What is learnt of a request is learnt as its body is read.
        read(request.body_mut(), usize::MAX);
        let body = ScriptedBody { script: self.script.clone(), next: 0 };
        let mut response = Response::new(body);
        response
            .headers_mut()
            .insert(http::header::CONTENT_TYPE, http::HeaderValue::from_static(self.content_type));
        future::ready(Ok(response))
    }
}

impl Body for ScriptedBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let piece = self.script.get(self.next).cloned();
        self.next += 1;
        Poll::Ready(piece.map(|piece| Ok(Frame::data(piece))))
    }
}

/// A streamed chat request with this body.
///
/// # Panics
///
/// Never: the parts are fixed.
pub fn request(body: Bytes) -> Request<Full<Bytes>> {
    Request::post("/v1/chat/completions")
        .header("content-type", "application/json")
        .header("content-length", body.len())
        .body(Full::new(body))
        .expect("the parts are valid")
}

/// Calls the service and gives the body of its answer.
///
/// # Panics
///
/// If the service is not ready, or does not answer, at once.
pub fn call<S, B, R>(service: &mut S, request: Request<B>) -> R
where
    S: Service<Request<B>, Response = Response<R>, Error = Infallible>,
{
    let mut cx = Context::from_waker(Waker::noop());
    let ready = service.poll_ready(&mut cx);
    assert!(ready.is_ready(), "a scripted service is ready");
    match pin!(service.call(request)).poll(&mut cx) {
        Poll::Ready(Ok(response)) => response.into_body(),
        Poll::Pending => panic!("a scripted service answers at once"),
    }
}

/// Reads at most `frames` frames and says how many there were.
///
/// # Panics
///
/// If the body fails or has a frame yet to come.
pub fn read<B>(body: &mut B, frames: usize) -> usize
where
    B: Body<Data = Bytes, Error = Infallible> + Unpin,
{
    let mut cx = Context::from_waker(Waker::noop());
    (0..frames)
        .take_while(|_| match Pin::new(&mut *body).poll_frame(&mut cx) {
            Poll::Ready(Some(Ok(frame))) => {
                drop(std::hint::black_box(frame));
                true
            }
            Poll::Ready(None) => false,
            Poll::Pending => panic!("a scripted body is never pending"),
        })
        .count()
}
