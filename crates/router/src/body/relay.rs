use std::{
    pin::Pin,
    task::{Context, Poll, ready},
};

use bytes::Bytes;
use http::{Response, response};
use http_body::{Body, Frame, SizeHint};

use super::{RouterBody, tail::StreamTail};
use crate::{RouteError, answer, headers, legs::LegBody};

/// One worker's answer on its way to the client, frame by frame as it came. A stream of events that
/// fails ends by an event that says so.
#[derive(Debug)]
pub(crate) struct RelayBody {
    leg: LegBody,
    /// What came before anybody asked for it.
    first: Option<Option<Frame<Bytes>>>,
    /// There for a stream of events.
    tail: Option<StreamTail>,
    end: End,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    Open,
    Whole,
    Failed,
}

// === impl RelayBody ===

impl RelayBody {
    pub(crate) fn new(parts: &response::Parts, leg: LegBody) -> Self {
        let tail = headers::is_event_stream(&parts.headers).then(StreamTail::default);
        Self { leg, first: None, tail, end: End::Open }
    }

    /// A worker's answer as it is.
    pub(crate) fn answer(response: Response<LegBody>) -> Response<RouterBody> {
        let (parts, leg) = response.into_parts();
        let body = Self::new(&parts, leg);
        Response::from_parts(parts, body.into())
    }

    /// Waits for the first frame, and keeps it.
    ///
    /// # Errors
    ///
    /// If the leg fails before it.
    pub(crate) fn poll_first(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), RouteError>> {
        if self.first.is_none() {
            let frame = ready!(Pin::new(&mut self.leg).poll_frame(cx));
            self.first = Some(frame.transpose()?);
        }
        Poll::Ready(Ok(()))
    }

    /// The other leg failed so.
    pub(crate) fn blame(&mut self, error: &RouteError) {
        self.leg.blame(error);
    }

    /// The client has, or is about to have, all that is worth waiting for.
    pub(super) fn is_answered(&self) -> bool {
        let marked = self.tail.as_ref().is_some_and(StreamTail::is_marked);
        self.end != End::Failed && (marked || self.is_end_stream())
    }

    /// Ends the answer by an error: as an event of a stream, else by breaking it off.
    pub(super) fn end_by(&mut self, error: RouteError) -> Result<Frame<Bytes>, RouteError> {
        self.end = End::Failed;
        let Some(tail) = &self.tail else { return Err(error) };
        let event = answer::error_event(&error);
        Ok(Frame::data([tail.closing(), &event].concat().into()))
    }
}

impl Body for RelayBody {
    type Data = Bytes;
    type Error = RouteError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RouteError>>> {
        if self.end != End::Open {
            return Poll::Ready(None);
        }
        let frame = match self.first.take() {
            Some(first) => first.map(Ok),
            None => ready!(Pin::new(&mut self.leg).poll_frame(cx)),
        };
        Poll::Ready(match frame {
            Some(Ok(frame)) => {
                if let (Some(data), Some(tail)) = (frame.data_ref(), &mut self.tail) {
                    tail.push(data);
                }
                Some(Ok(frame))
            }
            Some(Err(error)) => Some(self.end_by(error)),
            None => {
                self.end = End::Whole;
                None
            }
        })
    }

    fn is_end_stream(&self) -> bool {
        self.end != End::Open || (self.first.is_none() && self.leg.is_end_stream())
    }

    fn size_hint(&self) -> SizeHint {
        // A stream may end by an event of the router's own.
        if self.tail.is_some() {
            return SizeHint::default();
        }
        // What was taken from the leg is still to come.
        let first = match &self.first {
            Some(Some(frame)) => frame.data_ref().map_or(0, Bytes::len) as u64,
            _ => 0,
        };
        let rest = self.leg.size_hint();
        let mut hint = SizeHint::new();
        if let Some(upper) = rest.upper() {
            hint.set_upper(upper + first);
        }
        hint.set_lower(rest.lower() + first);
        hint
    }
}
