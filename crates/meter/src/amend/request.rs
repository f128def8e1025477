//! The request's body: read whole to be amended, handed on in pieces.

use std::{
    collections::VecDeque,
    mem,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use plimsoll_wire::{PeekSlot, Splice};

/// The body that the service below gets. When it asks for the first frame the client's body is read
/// whole, and edited.
#[derive(Debug)]
pub struct RequestBody<B: Body> {
    /// There until the body is read, if it is to be amended.
    amend: Option<Amendment>,
    /// What was read and not handed on yet.
    pieces: VecDeque<Bytes>,
    length: u64,
    /// What was not read.
    rest: Option<B>,
    error: Option<B::Error>,
}

#[derive(Debug)]
struct Amendment {
    slot: PeekSlot,
    max_body: u64,
}

/// The longest edit of [`RequestPeek::with_usage_asked`](plimsoll_wire::RequestPeek::with_usage_asked).
const MAX_EDIT: u64 = 64;

// === impl RequestBody ===

impl<B: Body> RequestBody<B> {
    /// A body to be handed on as it is.
    pub(super) fn pass(body: B) -> Self {
        Self { amend: None, pieces: VecDeque::new(), length: 0, rest: Some(body), error: None }
    }

    /// A body to be amended if it has at most `max_body` bytes; what it says goes into `slot`.
    pub(super) fn amend(body: B, slot: PeekSlot, max_body: u64) -> Self {
        Self { amend: Some(Amendment { slot, max_body }), ..Self::pass(body) }
    }
}

impl<B: Body<Data = Bytes> + Unpin> RequestBody<B> {
    /// Reads the body to its end, to its limit or to an error. Ready with whether it is whole.
    fn poll_read(&mut self, cx: &mut Context<'_>, max_body: u64) -> Poll<bool> {
        while let Some(body) = &mut self.rest {
            match ready!(Pin::new(body).poll_frame(cx)) {
                None => return Poll::Ready(true),
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.length += data.len() as u64;
                        self.pieces.push_back(data);
                    }
                    if self.length > max_body {
                        break;
                    }
                }
                Some(Err(error)) => {
                    self.error = Some(error);
                    self.rest = None;
                }
            }
        }
        Poll::Ready(false)
    }

    /// The body was read whole: what stands in it is edited where it is to be.
    fn edit(&mut self, slot: &PeekSlot) {
        self.rest = None;
        let whole = Splice::from(mem::take(&mut self.pieces)).into_bytes();
        let peek = slot.read(&whole).ok().filter(|peek| peek.usage_is_to_be_asked());
        let edited = peek.and_then(|peek| peek.with_usage_asked(&whole));
        let edited = edited.unwrap_or_else(|| whole.into());
        self.length = edited.len() as u64;
        self.pieces = edited.into();
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
        let this = &mut *self;
        if let Some(Amendment { slot, max_body }) = &this.amend {
            let (slot, max_body) = (slot.clone(), *max_body);
            if ready!(this.poll_read(cx, max_body)) {
                this.edit(&slot);
            }
            this.amend = None;
        }
        if let Some(piece) = this.pieces.pop_front() {
            this.length -= piece.len() as u64;
            return Poll::Ready(Some(Ok(Frame::data(piece))));
        }
        match &mut this.rest {
            Some(rest) => Pin::new(rest).poll_frame(cx),
            None => Poll::Ready(this.error.take().map(Err)),
        }
    }

    fn is_end_stream(&self) -> bool {
        let rest_ended = self.rest.as_ref().is_none_or(Body::is_end_stream);
        self.pieces.is_empty() && rest_ended && self.error.is_none()
    }

    fn size_hint(&self) -> SizeHint {
        let rest = self.rest.as_ref().map_or(SizeHint::with_exact(0), Body::size_hint);
        let edit = if self.amend.is_some() { MAX_EDIT } else { 0 };
        let mut hint = SizeHint::new();
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper + self.length + edit);
        }
        hint.set_lower(rest.lower() + self.length);
        hint
    }
}
