//! A request's body, which must go on coming.

use std::{
    error::Error,
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;
use tokio::time::{Instant, Sleep, sleep_until};

use super::socket::Reading;

/// The least mean pace of a body that takes longer than the limit on its silence, in bytes a second:
/// who sends a byte now and then is silent, too.
const PACE: u64 = 1 << 10;

/// A body that fails if it stalls: if nothing of it comes for `limit`, or all of it so far came at
/// less than [`PACE`], the first `limit` aside.
#[derive(Debug)]
pub(super) struct Upload {
    incoming: Incoming,
    /// Not there where other requests share the connection.
    reading: Option<Reading>,
    limit: Duration,
    /// There from the first wait on: most bodies come with their head, and need no timer.
    wait: Option<Box<Wait>>,
}

#[derive(Debug)]
struct Wait {
    begun: Instant,
    /// When something came last.
    last: Instant,
    received: u64,
    sleep: Pin<Box<Sleep>>,
}

type BoxError = Box<dyn Error + Send + Sync>;

// === impl Upload ===

impl Upload {
    pub(super) fn new(incoming: Incoming, reading: Option<Reading>, limit: Duration) -> Self {
        Self { incoming, reading, limit, wait: None }
    }

    /// Why no more of it can be read. On a connection that is shared that is its end: frames that
    /// are none end all of the connection, and who has left is not told apart.
    fn broken(&self, error: hyper::Error) -> BoxError {
        match self.reading {
            Some(_) => error.into(),
            None => io::Error::new(io::ErrorKind::ConnectionReset, error).into(),
        }
    }
}

impl Body for Upload {
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        let Self { incoming, limit, wait, .. } = &mut *self;
        match Pin::new(incoming).poll_frame(cx) {
            Poll::Ready(frame) => {
                if let Some(wait) = wait {
                    let data = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref());
                    wait.note(data.map_or(0, Bytes::len));
                }
                Poll::Ready(frame.map(|frame| frame.map_err(|error| self.broken(error))))
            }
            Poll::Pending => {
                let wait = wait.get_or_insert_with(|| Box::new(Wait::new(*limit)));
                match wait.poll(cx, *limit) {
                    Poll::Ready(()) => {
                        let stalled = io::Error::new(io::ErrorKind::TimedOut, "the body stalled");
                        Poll::Ready(Some(Err(stalled.into())))
                    }
                    Poll::Pending => Poll::Pending,
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}

// === impl Wait ===

impl Wait {
    fn new(limit: Duration) -> Self {
        let now = Instant::now();
        Self { begun: now, last: now, received: 0, sleep: Box::pin(sleep_until(now + limit)) }
    }

    fn note(&mut self, length: usize) {
        self.last = Instant::now();
        self.received += length as u64;
    }

    /// When it is over, if nothing comes until then.
    fn end(&self, limit: Duration) -> Instant {
        let earned = Duration::from_secs(self.received / PACE);
        (self.last + limit).min(self.begun + limit + earned)
    }

    /// Ready when it is over. The timer is moved on only when it fires: what comes costs none.
    fn poll(&mut self, cx: &mut Context<'_>, limit: Duration) -> Poll<()> {
        while self.sleep.as_mut().poll(cx).is_ready() {
            let end = self.end(limit);
            if Instant::now() >= end {
                return Poll::Ready(());
            }
            self.sleep.as_mut().reset(end);
        }
        Poll::Pending
    }
}
