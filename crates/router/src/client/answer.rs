use std::{
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use hyper::body::Incoming;

use super::{connection::Connection, pool::Pool};

/// The body of a worker's answer, and the connection it comes over, which goes back to the pool after
/// its last byte. Dropping it before closes the connection.
#[derive(Debug)]
pub(crate) struct AnswerBody {
    incoming: Incoming,
    /// There until the body has ended.
    connection: Option<Connection>,
    pool: Pool,
    worker: Arc<str>,
}

// === impl AnswerBody ===

impl AnswerBody {
    pub(super) fn new(
        incoming: Incoming,
        connection: Connection,
        pool: Pool,
        worker: Arc<str>,
    ) -> Self {
        let mut body = Self { incoming, connection: Some(connection), pool, worker };
        if body.incoming.is_end_stream() {
            body.give_back();
        }
        body
    }

    fn give_back(&mut self) {
        if let Some(connection) = self.connection.take_if(Connection::is_idle) {
            self.pool.put(&self.worker, connection);
        }
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = hyper::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<hyper::Result<Frame<Bytes>>>> {
        let Self { incoming, connection, .. } = &mut *self;
        let mut next = |cx: &mut Context<'_>| Pin::new(&mut *incoming).poll_frame(cx);
        let frame = match connection {
            Some(connection) => connection.drive(cx, next),
            None => next(cx),
        };
        let is_last = match &frame {
            Poll::Ready(Some(Ok(frame))) => frame.is_trailers(),
            Poll::Ready(frame) => frame.is_none(),
            Poll::Pending => false,
        };
        if is_last || self.incoming.is_end_stream() {
            self.give_back();
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
