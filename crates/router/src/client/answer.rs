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
    /// Trailers came: nobody asks for more behind them.
    has_trailers: bool,
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
        let mut body =
            Self { incoming, connection: Some(connection), has_trailers: false, pool, worker };
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
        if let Poll::Ready(Some(Ok(frame))) = &frame {
            self.has_trailers |= frame.is_trailers();
        }
        if matches!(frame, Poll::Ready(None)) || self.is_end_stream() {
            self.give_back();
        }
        frame
    }

    fn is_end_stream(&self) -> bool {
        self.has_trailers || self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
