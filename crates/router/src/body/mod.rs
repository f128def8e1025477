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
#[expect(private_interfaces, reason = "what a body is made of is nobody else's business")]
pub enum RouterBody {
    /// The router's own answer.
    Whole(Full<Bytes>),
    /// One worker's answer.
    Relay(RelayBody),
    /// The answer of a pair.
    Pair(PairBody),
}

// === impl RouterBody ===

impl RouterBody {
    pub(crate) fn whole(body: Bytes) -> Self {
        Self::Whole(Full::new(body))
    }
}

impl Body for RouterBody {
    type Data = Bytes;
    type Error = RouteError;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, RouteError>>> {
        match self.get_mut() {
            Self::Whole(body) => Pin::new(body).poll_frame(cx).map_err(|never| match never {}),
            Self::Relay(body) => Pin::new(body).poll_frame(cx),
            Self::Pair(body) => Pin::new(body).poll_frame(cx),
        }
    }

    fn is_end_stream(&self) -> bool {
        match self {
            Self::Whole(body) => body.is_end_stream(),
            Self::Relay(body) => body.is_end_stream(),
            Self::Pair(body) => body.is_end_stream(),
        }
    }

    fn size_hint(&self) -> SizeHint {
        match self {
            Self::Whole(body) => body.size_hint(),
            Self::Relay(body) => body.size_hint(),
            Self::Pair(body) => body.size_hint(),
        }
    }
}
