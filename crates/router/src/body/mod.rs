//! The bodies that clients get.

mod kept_alive;
mod pair;
mod relay;
mod tail;

use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::{Body, Frame, SizeHint};
use http_body_util::Full;

use self::kept_alive::KeptAlive;
pub(crate) use self::{kept_alive::kept_alive, pair::PairBody, relay::RelayBody};
use crate::{RouteError, admission::Ticket};

/// The response body of a [`Router`](crate::Router).
#[derive(Debug, Default)]
pub struct RouterBody {
    kind: Kind,
    /// Given back when the body is dropped: until then the request counts.
    ticket: Option<Ticket>,
}

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a box would cost each request an allocation")]
enum Kind {
    /// The router's own answer.
    Whole(Full<Bytes>),
    /// One worker's answer.
    Relay(RelayBody),
    /// The answer of a pair.
    Pair(PairBody),
    /// A stream with comments where it is silent.
    KeptAlive(Box<KeptAlive>),
}

// === impl Kind ===

impl Default for Kind {
    fn default() -> Self {
        Self::Whole(Full::default())
    }
}

impl Kind {
    /// Ends the answer because the router stops; one of its own needs no end.
    fn stop(&mut self) -> Option<Result<Frame<Bytes>, RouteError>> {
        let error = RouteError::Stopping;
        match self {
            Self::Whole(_) => None,
            Self::Relay(body) => Some(body.end_by(error)),
            Self::Pair(body) => Some(body.end_by(error)),
            Self::KeptAlive(body) => Some(Ok(body.stop(&error))),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(body) => body.is_end_stream(),
            Self::Relay(body) => body.is_end_stream(),
            Self::Pair(body) => body.is_end_stream(),
            Self::KeptAlive(body) => body.is_end_stream(),
        }
    }
}

// === impl RouterBody ===

impl RouterBody {
    /// The body of a request that was let in.
    pub(crate) fn holding(self, ticket: Ticket) -> Self {
        Self { ticket: Some(ticket), ..self }
    }
}

impl From<Kind> for RouterBody {
    fn from(kind: Kind) -> Self {
        Self { kind, ticket: None }
    }
}

impl From<KeptAlive> for RouterBody {
    fn from(body: KeptAlive) -> Self {
        Kind::KeptAlive(Box::new(body)).into()
    }
}

impl From<Bytes> for RouterBody {
    fn from(body: Bytes) -> Self {
        Kind::Whole(Full::new(body)).into()
    }
}

impl From<RelayBody> for RouterBody {
    fn from(body: RelayBody) -> Self {
        Kind::Relay(body).into()
    }
}

impl From<PairBody> for RouterBody {
    fn from(body: PairBody) -> Self {
        Kind::Pair(body).into()
    }
}

impl Body for RouterBody {
    type Data = Bytes;
    type Error = RouteError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RouteError>>> {
        let Self { kind, ticket } = self.get_mut();
        // Asked first: a worker may have a next frame whenever it is asked for one.
        if ticket.as_mut().is_some_and(|ticket| ticket.poll_void(cx)) && !kind.is_end_stream() {
            if let Some(end) = kind.stop() {
                *ticket = None;
                return Poll::Ready(Some(end));
            }
        }
        match kind {
            Kind::Whole(body) => Pin::new(body).poll_frame(cx).map_err(|never| match never {}),
            Kind::Relay(body) => Pin::new(body).poll_frame(cx),
            Kind::Pair(body) => Pin::new(body).poll_frame(cx),
            Kind::KeptAlive(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.kind.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        match &self.kind {
            Kind::Whole(body) => body.size_hint(),
            Kind::Relay(body) => body.size_hint(),
            Kind::Pair(body) => body.size_hint(),
            Kind::KeptAlive(body) => body.size_hint(),
        }
    }
}
