use std::{
    fmt,
    sync::Arc,
    time::{Duration, SystemTime},
};

use http::Method;
use plimsoll_wire::{Endpoint, Upstream, Usage};

use crate::Gaps;

/// All that is known of one finished request.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Record {
    /// The request's method.
    pub method: Method,
    /// The route.
    pub endpoint: Endpoint,
    /// The id it goes by: that of a router below, else the response's or the request's
    /// `x-request-id`.
    pub id: Option<Arc<str>>,
    /// Who is charged, as the layer's [`tenant`](crate::MeterLayer::tenant) says.
    pub tenant: Option<Arc<str>>,
    /// The model: as asked for where a worker is known to serve it, else as the answer names it,
    /// else as asked for.
    pub model: Option<Arc<str>>,
    /// The model is one that a worker is known to serve, so the set of such names is bounded.
    pub model_is_served: bool,
    /// The model asked for, if somebody below has read the request.
    pub asked_model: Option<Arc<str>>,
    /// The model that the answer names.
    pub answered_model: Option<Arc<str>>,
    /// A stream was asked for.
    pub stream: bool,
    /// The status sent; `None` if the client left, or the service failed, before any.
    pub status: Option<u16>,
    /// How the request ended.
    pub outcome: Outcome,
    /// How far `usage` can be trusted.
    pub completeness: Completeness,
    /// The engine's counts: final where [`Completeness::Exact`], the last cumulative ones where
    /// [`Completeness::Partial`], else none.
    pub usage: Usage,
    /// Where [`Completeness::Partial`]: how many tokens were written at least. The engine's last
    /// cumulative count; or the tokens that the events list by number or log probability, and one
    /// for each other event that held text.
    pub completion_lower_bound: Option<u64>,
    /// Events that held text, of a stream.
    pub chunks: u64,
    /// Parts of the answer whose counts cannot be read or contradict each other: a total that is not
    /// the sum, more cached tokens than there were. Counts that can be read are kept as stated.
    pub anomalies: u64,
    /// Why each choice ended, in the order of the choices.
    pub finish_reasons: Vec<String>,
    /// When what happened.
    pub timing: Timing,
    /// The times between arrivals of text.
    pub gaps: Gaps,
    /// The way that a router sent it.
    pub upstream: Upstream,
    /// The time from when the prefill worker was asked to the end of its reply, for a
    /// prefill/decode pair.
    pub prefill_duration: Option<Duration>,
    /// The wall clock at the end of the body.
    pub ended_at: SystemTime,
}

/// Times since the request reached the layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Timing {
    /// The first byte of the response's body.
    pub first_byte: Option<Duration>,
    /// The first event of a 2xx stream with non-empty content, reasoning, tool-call text or
    /// completion text.
    pub first_token: Option<Duration>,
    /// The last such event.
    pub last_token: Option<Duration>,
    /// The end of the body.
    pub total: Duration,
}

/// How a request ended. Of several that fit, the first in this order stands; but a client that left
/// before the head, or after whose leaving the answer was read on, is a [`ClientDisconnect`](Self::ClientDisconnect)
/// whatever came of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// A router refused it: overload, no eligible worker, not to be served here.
    Rejected,
    /// The status is 4xx.
    ClientError,
    /// The status is 5xx, the transport failed, or the engine sent an error inside a 200 answer.
    UpstreamError,
    /// The answer went out whole: a stream with its terminal marker.
    Complete,
    /// The stream ended cleanly, but without its terminal marker.
    Truncated,
    /// The client left before the end.
    ClientDisconnect,
}

/// How far the counts of a request can be trusted. Estimates never enter exact counters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Completeness {
    /// The engine's final numbers.
    Exact,
    /// The client left or the stream broke before them: the last cumulative numbers, or a lower
    /// bound.
    Partial,
    /// The request is finished and the engine stated none.
    Absent,
    /// The answer was encoded (gRPC included), or too large to be read.
    Unreadable,
}

// === impl Record ===

impl Record {
    /// The mean time per output token after the first: known for exact counts of two or more.
    pub fn time_per_output_token(&self) -> Option<Duration> {
        let tokens = self.usage.completion.filter(|_| self.completeness == Completeness::Exact)?;
        let between = self.timing.last_token? - self.timing.first_token?;
        let gaps = u32::try_from(tokens.checked_sub(1)?).ok()?;
        between.checked_div(gaps)
    }
}

// === impl Outcome ===

impl Outcome {
    /// The label value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Rejected => "rejected",
            Self::ClientError => "client_error",
            Self::UpstreamError => "upstream_error",
            Self::Complete => "complete",
            Self::Truncated => "truncated",
            Self::ClientDisconnect => "client_disconnect",
        }
    }
}

impl fmt::Display for Outcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

// === impl Completeness ===

impl Completeness {
    /// The label value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Exact => "exact",
            Self::Partial => "partial",
            Self::Absent => "absent",
            Self::Unreadable => "unreadable",
        }
    }
}

impl fmt::Display for Completeness {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}
