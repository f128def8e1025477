//! A request's answer, from the call to the end of its body.

use std::{
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use http::Response;
use http_body::{Body, Frame, SizeHint};
use pin_project::pin_project;

use super::socket::Running;

/// A future of an answer, or the answer's body: whose request runs until this is dropped.
#[pin_project]
#[derive(Debug)]
pub(super) struct Answering<T> {
    #[pin]
    inner: T,
    /// There until it is handed on.
    running: Option<Running>,
}

// === impl Answering ===

impl<T> Answering<T> {
    pub(super) fn new(inner: T, running: Running) -> Self {
        Self { inner, running: Some(running) }
    }
}

impl<F, B, E> Future for Answering<F>
where
    F: Future<Output = Result<Response<B>, E>>,
{
    type Output = Result<Response<Answering<B>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let answer = ready!(this.inner.poll(cx))?;
        let running = this.running.take();
        Poll::Ready(Ok(answer.map(|inner| Answering { inner, running })))
    }
}

impl<B: Body> Body for Answering<B> {
    type Data = B::Data;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<B::Data>, B::Error>>> {
        self.project().inner.poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}
