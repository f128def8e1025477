//! The request's body: read whole to be amended, handed on in pieces.

use std::{
    collections::VecDeque,
    mem,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use plimsoll_wire::Splice;

/// The body of an amended request: what was read of it, in pieces, then what was not.
#[derive(Debug)]
pub struct RequestBody<B: Body> {
    pieces: VecDeque<Bytes>,
    length: u64,
    rest: Option<B>,
    error: Option<B::Error>,
}

/// Reads a body up to a limit.
pub(super) struct Collect<B: Body> {
    read: RequestBody<B>,
    max: u64,
}

/// What came of reading.
pub(super) enum Collected<B: Body> {
    Whole(Bytes),
    /// Too large, or it broke off: to be handed on as it is.
    Unread(RequestBody<B>),
}

// === impl Collect ===

impl<B: Body<Data = Bytes> + Unpin> Collect<B> {
    pub(super) fn new(body: B, max: u64) -> Self {
        Self { read: RequestBody::unread(body), max }
    }

    /// To be polled until it is ready, and not again.
    pub(super) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Collected<B>> {
        let read = &mut self.read;
        while let Some(body) = &mut read.rest {
            match ready!(Pin::new(body).poll_frame(cx)) {
                None => {
                    let pieces = mem::take(&mut read.pieces);
                    return Poll::Ready(Collected::Whole(Splice::from(pieces).into_bytes()));
                }
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        read.length += data.len() as u64;
                        read.pieces.push_back(data);
                    }
                    if read.length > self.max {
                        break;
                    }
                }
                Some(Err(error)) => {
                    read.error = Some(error);
                    read.rest = None;
                }
            }
        }
        Poll::Ready(Collected::Unread(mem::take(read)))
    }
}

// === impl RequestBody ===

impl<B: Body> RequestBody<B> {
    /// A body that was not looked at.
    pub(super) fn unread(body: B) -> Self {
        Self { rest: Some(body), ..Self::default() }
    }
}

impl<B: Body> Default for RequestBody<B> {
    fn default() -> Self {
        Self { pieces: VecDeque::new(), length: 0, rest: None, error: None }
    }
}

impl<B: Body> From<Splice> for RequestBody<B> {
    fn from(splice: Splice) -> Self {
        let length = splice.len() as u64;
        Self { pieces: splice.into(), length, ..Self::default() }
    }
}

impl<B: Body<Data = Bytes> + Unpin> Body for RequestBody<B>
where
    B::Error: Unpin,
{
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let Self { pieces, length, rest, error } = &mut *self;
        if let Some(piece) = pieces.pop_front() {
            *length -= piece.len() as u64;
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        match rest {
            Some(rest) => Pin::new(rest).poll_frame(cx),
            None => Poll::Ready(error.take().map(Err)),
        }
    }

    fn is_end_stream(&self) -> bool {
        let rest_ended = self.rest.as_ref().is_none_or(Body::is_end_stream);
        self.pieces.is_empty() && rest_ended && self.error.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.as_ref().map_or(SizeHint::with_exact(0), Body::size_hint);
        let mut hint = SizeHint::new();
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper + self.length);
        }
        hint.set_lower(rest.lower() + self.length);
        hint
    }
}
