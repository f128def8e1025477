//! The request's body: read whole to be amended, handed on in pieces.

use std::{
    collections::VecDeque,
    mem,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use plimsoll_wire::{PeekSlot, Splice, edit::Gather};

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
    read: Gather,
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
        Self {
            amend: Some(Amendment { slot, max_body, read: Gather::default() }),
            ..Self::pass(body)
        }
    }
}

impl<B: Body<Data = Bytes> + Unpin> RequestBody<B> {
    /// Reads the body to its end, to its limit or to an error, and edits it where it is whole and is
    /// to be edited.
    fn poll_read(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(Amendment { slot, max_body, read }) = &mut self.amend else {
            return Poll::Ready(());
        };
        let mut is_whole = false;
        while let Some(body) = &mut self.rest {
            match ready!(Pin::new(&mut *body).poll_frame(cx)) {
                Some(Ok(frame)) => {
                    if let Ok(data) = frame.into_data() {
                        self.length += data.len() as u64;
                        let ahead = body.size_hint().lower();
                        read.push(data, usize::try_from(ahead).unwrap_or(usize::MAX));
                    }
                    if self.length > *max_body {
                        break;
                    }
                }
                ended => {
                    is_whole = ended.is_none();
                    self.error = ended.and_then(Result::err);
                    self.rest = None;
                }
            }
        }
        let read = mem::take(read).into_bytes();
        let read = if is_whole { edited(slot, read) } else { read.into() };
        self.length = read.len() as u64;
        self.pieces = read.into();
        self.amend = None;
        Poll::Ready(())
    }
}

/// A whole body, edited where it is to be; what it says goes into `slot`.
fn edited(slot: &PeekSlot, whole: Bytes) -> Splice {
    let peek = slot.read(&whole).ok().filter(|peek| peek.usage_is_to_be_asked());
    let edited = peek.and_then(|peek| peek.with_usage_asked(&whole));
    edited.unwrap_or_else(|| whole.into())
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
        ready!(this.poll_read(cx));
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
        // A client may state any length.
        if let Some(upper) = rest.upper().and_then(|upper| upper.checked_add(self.length + edit)) {
            hint.set_upper(upper);
        }
        hint.set_lower(rest.lower().saturating_add(self.length));
        hint
    }
}
