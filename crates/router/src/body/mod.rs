//! The bodies that clients get.

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

pub(crate) use self::{pair::PairBody, relay::RelayBody};
use crate::RouteError;

/// The response body of a [`Router`](crate::Router).
#[derive(Debug)]
pub struct RouterBody(Kind);

#[derive(Debug)]
#[expect(clippy::large_enum_variant, reason = "a box would cost each request an allocation")]
enum Kind {
    /// The router's own answer.
    Whole(Full<Bytes>),
    /// One worker's answer.
    Relay(RelayBody),
    /// The answer of a pair.
    Pair(PairBody),
}

// === impl RouterBody ===

impl From<Bytes> for RouterBody {
    fn from(body: Bytes) -> Self {
        Self(Kind::Whole(Full::new(body)))
    }
}

impl From<RelayBody> for RouterBody {
    fn from(body: RelayBody) -> Self {
        Self(Kind::Relay(body))
    }
}

impl From<PairBody> for RouterBody {
    fn from(body: PairBody) -> Self {
        Self(Kind::Pair(body))
    }
}

impl Body for RouterBody {
    type Data = Bytes;
    type Error = RouteError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RouteError>>> {
        match &mut self.get_mut().0 {
            Kind::Whole(body) => Pin::new(body).poll_frame(cx).map_err(|never| match never {}),
            Kind::Relay(body) => Pin::new(body).poll_frame(cx),
            Kind::Pair(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match &self.0 {
            Kind::Whole(body) => body.is_end_stream(),
            Kind::Relay(body) => body.is_end_stream(),
            Kind::Pair(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match &self.0 {
            Kind::Whole(body) => body.size_hint(),
            Kind::Relay(body) => body.size_hint(),
            Kind::Pair(body) => body.size_hint(),
        }
    }
}
