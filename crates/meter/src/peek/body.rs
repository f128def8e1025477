use std::{
    fmt, mem,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use pin_project::pin_project;
use plimsoll_wire::{PeekSlot, edit::Gather};

/// The request body that the service below [`Peek`](super::Peek) gets: every frame as it is.
#[pin_project]
pub struct PeekedBody<B> {
    #[pin]
    inner: B,
    /// There until the body has been looked at, or has outgrown the limit.
    looking: Option<Looking>,
}

/// What has passed. A body in one frame is shared, not copied.
#[derive(Debug)]
struct Looking {
    slot: PeekSlot,
    passed: Gather,
    left: u64,
}

// === impl PeekedBody ===

impl<B> PeekedBody<B> {
    pub(super) fn new(inner: B, slot: Option<PeekSlot>, max_body: u64) -> Self {
        let looking = slot.map(|slot| Looking { slot, passed: Gather::default(), left: max_body });
        Self { inner, looking }
    }

    /// The body below.
    pub fn get_ref(&self) -> &B {
        &self.inner
    }

    /// The body below, this one taken off.
    pub fn into_inner(self) -> B {
        self.inner
    }
}

impl<B: Body<Data = Bytes>> Body for PeekedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let mut this = self.project();
        let frame = ready!(this.inner.as_mut().poll_frame(cx));
        let Some(looking) = this.looking else { return Poll::Ready(frame) };
        let data = match &frame {
            Some(Ok(frame)) => frame.data_ref(),
            _ => None,
        };
        let ahead = usize::try_from(this.inner.size_hint().lower()).unwrap_or(usize::MAX);
        let within = data.is_none_or(|data| looking.push(data, ahead));
        // With a content-length the body is not polled again after its last byte.
        let ended = frame.is_none() || this.inner.is_end_stream();
        if ended && within {
            looking.read();
        }
        if ended || !within || matches!(frame, Some(Err(_))) {
            *this.looking = None;
        }
        Poll::Ready(frame)
    }

    fn is_end_stream(&self) -> bool {
        self.inner.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.inner.size_hint()
    }
}

// === impl Looking ===

impl Looking {
    /// Keeps a frame, after which about `ahead` more bytes come. Whether the body is still within the
    /// limit.
    fn push(&mut self, data: &Bytes, ahead: usize) -> bool {
        let Some(left) = self.left.checked_sub(data.len() as u64) else { return false };
        self.left = left;
        self.passed.push(data.clone(), ahead);
        true
    }

    /// The body is there whole.
    fn read(&mut self) {
        // What is no JSON object is for the service below to refuse.
        let _ = self.slot.read(&mem::take(&mut self.passed).into_bytes());
    }
}

impl<B: fmt::Debug> fmt::Debug for PeekedBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PeekedBody").field("inner", &self.inner).finish_non_exhaustive()
    }
}
