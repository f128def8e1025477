use std::{
    collections::VecDeque,
    fmt, mem,
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use pin_project::pin_project;
use plimsoll_wire::sse::SseScanner;

use super::Withheld;

/// How many bytes of an unfinished event are held back until it is known what it is: 64 KiB. The
/// event to be taken out has a few hundred; a larger one is let go.
const MAX_HELD: usize = 64 << 10;

/// The response body of [`Amend`](super::Amend).
#[pin_project]
pub struct AmendedBody<B: Body> {
    #[pin]
    inner: B,
    /// There if an event is to be taken out.
    filter: Option<Filter>,
    /// How `inner` ended, to be told once all that `filter` let through is out.
    tail: Option<Tail<B::Error>>,
}

/// Lets the events of a stream through, but for the usage events.
#[derive(Debug, Default)]
struct Filter {
    scanner: SseScanner,
    /// The pieces of the event that has not ended yet.
    held: Vec<Bytes>,
    held_length: usize,
    /// An event was taken out whose last byte so far was a CR: an LF that follows belongs to it.
    after_cr: bool,
    /// What is let through and not yet handed on.
    out: VecDeque<Bytes>,
    withheld: Withheld,
}

enum Tail<E> {
    Ended,
    Trailers(HeaderMap),
    Failed(E),
}

// === impl AmendedBody ===

impl<B: Body<Data = Bytes>> AmendedBody<B> {
    pub(super) fn pass(inner: B) -> Self {
        Self { inner, filter: None, tail: None }
    }

    pub(super) fn withholding(inner: B, withheld: Withheld) -> Self {
        Self { inner, filter: Some(Filter { withheld, ..Filter::default() }), tail: None }
    }
}

impl<B: Body<Data = Bytes>> Body for AmendedBody<B> {
    type Data = Bytes;
    type Error = B::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, B::Error>>> {
        let mut this = self.project();
        let Some(filter) = this.filter else {
            return this.inner.poll_frame(cx);
        };
        loop {
            if let Some(piece) = filter.out.pop_front() {
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
            match this.tail.take() {
                None => {}
                Some(Tail::Failed(error)) => return Poll::Ready(Some(Err(error))),
                Some(Tail::Trailers(trailers)) => {
                    *this.tail = Some(Tail::Ended);
                    return Poll::Ready(Some(Ok(Frame::trailers(trailers))));
                }
                Some(Tail::Ended) => {
                    *this.tail = Some(Tail::Ended);
                    return Poll::Ready(None);
                }
            }
            let tail = match ready!(this.inner.as_mut().poll_frame(cx)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => {
                        filter.push(&data);
                        continue;
                    }
                    Err(frame) => Tail::Trailers(frame.into_trailers().unwrap_or_default()),
                },
                Some(Err(error)) => Tail::Failed(error),
                None => Tail::Ended,
            };
            filter.finish();
            *this.tail = Some(tail);
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.filter {
            None => self.inner.is_end_stream(),
            Some(filter) => filter.is_empty() && matches!(self.tail, Some(Tail::Ended)),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.filter {
            None => self.inner.size_hint(),
            Some(_) => SizeHint::default(),
        }
    }
}

// === impl Filter ===

impl Filter {
    fn push(&mut self, data: &Bytes) {
        let Self { scanner, held, held_length, after_cr, out, withheld } = self;
        // The bytes from here on are let through in one run, unless an event ends it.
        let mut from = usize::from(mem::take(after_cr) && data.first() == Some(&b'\n'));
        let unfinished = scanner.push(data, |event| {
            let let_go = event.continued && *held_length > MAX_HELD;
            let taken = !let_go && withheld.read(event.data);
            if taken && event.continued {
                held.clear();
            }
            out.extend(held.drain(..));
            if taken {
                pass(out, data.slice(from..event.span.start.max(from)));
                from = event.span.end;
                *after_cr = from == data.len() && data.ends_with(b"\r");
            }
            *held_length = 0;
        });
        if unfinished > 0 {
            out.extend(held.drain(..));
            *held_length = 0;
        }
        pass(out, data.slice(from..unfinished.max(from)));
        let rest = data.slice(unfinished.max(from)..);
        *held_length += rest.len();
        held.extend(Some(rest).filter(|rest| !rest.is_empty()));
        if *held_length > MAX_HELD {
            out.extend(held.drain(..));
        }
    }

    fn finish(&mut self) {
        let Self { scanner, held, out, withheld, .. } = self;
        scanner.finish(|event| {
            if withheld.read(event.data) {
                held.clear();
            }
        });
        out.extend(held.drain(..));
    }

    fn is_empty(&self) -> bool {
        self.held.is_empty() && self.out.is_empty()
    }
}

fn pass(out: &mut VecDeque<Bytes>, piece: Bytes) {
    if !piece.is_empty() {
        out.push_back(piece);
    }
}

impl<B: Body> fmt::Debug for AmendedBody<B> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("AmendedBody").field("filter", &self.filter).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
