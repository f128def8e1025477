use std::{
    fmt,
    future::Future,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::Response;
use http_body::Body;
use pin_project::pin_project;

use crate::{MeteredBody, Sink, exchange::Ending, guard::Guard};

/// The response future of [`Meter`](crate::Meter).
#[pin_project]
pub struct MeteredFuture<F, S: Sink> {
    #[pin]
    inner: F,
    /// Settles the request if the future is dropped: the client left before any head.
    guard: Option<Guard<S>>,
}

// === impl MeteredFuture ===

impl<F, S: Sink> MeteredFuture<F, S> {
    pub(crate) fn new(inner: F, guard: Option<Guard<S>>) -> Self {
        Self { inner, guard }
    }

    /// The client left. Whether the counts would be better for waiting on.
    pub(crate) fn leave(&mut self) -> bool {
        self.guard.as_mut().is_some_and(Guard::leave)
    }
}

impl<F, S, ResB, E> Future for MeteredFuture<F, S>
where
    F: Future<Output = Result<Response<ResB>, E>>,
    S: Sink,
    ResB: Body<Data = Bytes>,
{
    type Output = Result<Response<MeteredBody<ResB, S>>, E>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let this = self.project();
        let result = ready!(this.inner.poll(cx));
        let mut guard = this.guard.take();
        Poll::Ready(match result {
            Ok(response) => {
                let (parts, body) = response.into_parts();
                if let Some(guard) = &mut guard {
                    guard.head(&parts);
                }
                Ok(Response::from_parts(parts, MeteredBody::new(body, guard)))
            }
            Err(error) => {
                if let Some(guard) = guard {
                    guard.settle(Ending::Failed);
                }
                Err(error)
            }
        })
    }
}

impl<F, S: Sink> fmt::Debug for MeteredFuture<F, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MeteredFuture").finish_non_exhaustive()
    }
}
