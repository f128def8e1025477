//! The table of what is recorded.

use crate::gaps;

/// One metric family.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// The name, without the prefix and its underscore.
    pub name: &'static str,
    /// Counter, gauge or histogram.
    pub kind: Kind,
    /// What it means, in one line.
    pub help: &'static str,
}

/// The kind of a family.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Kind {
    /// Only grows; the name ends in `_total`.
    Counter,
    /// Goes up and down.
    Gauge,
    /// A distribution over buckets with these upper bounds.
    Histogram(&'static [f64]),
}

/// Whole requests and streams: 5 ms to 1 h.
const DURATION: &[f64] = &[
    0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0,
    600.0, 1200.0, 1800.0, 3600.0,
];

/// First bytes and tokens: 1 ms to 2 min.
pub(super) const FIRST: &[f64] = &[
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0,
    120.0,
];

/// Token counts: 1 to 2^20.
const TOKENS: &[f64] = &[
    1.0,
    4.0,
    16.0,
    64.0,
    256.0,
    1024.0,
    2048.0,
    4096.0,
    8192.0,
    16384.0,
    32768.0,
    65536.0,
    131_072.0,
    262_144.0,
    524_288.0,
    1_048_576.0,
];

pub(super) const REQUESTS: Family = counter("requests_total", "Finished requests.");
pub(super) const IN_FLIGHT: Family = Family {
    name: "requests_in_flight",
    kind: Kind::Gauge,
    help: "Requests whose response body has not ended, failed or been dropped.",
};
pub(super) const REQUEST_DURATION: Family = histogram(
    "request_duration_seconds",
    DURATION,
    "Time from a request's arrival to the end of its response body.",
);
pub(super) const FIRST_BYTE: Family = histogram(
    "time_to_first_byte_seconds",
    FIRST,
    "Time from a request's arrival to the first byte of its response body.",
);
pub(super) const FIRST_TOKEN: Family = histogram(
    "time_to_first_token_seconds",
    FIRST,
    "Time from a request's arrival to the first text of a 2xx stream.",
);
pub(super) const PER_OUTPUT_TOKEN: Family = histogram(
    "time_per_output_token_seconds",
    &gaps::BOUNDS,
    "Mean time per output token after the first, of streams with exact counts.",
);
pub(super) const INTER_CHUNK: Family = histogram(
    "inter_chunk_seconds",
    &gaps::BOUNDS,
    "Time between arrivals of text in a stream; one arrival may hold several tokens.",
);
pub(super) const PROMPT_TOKENS: Family =
    counter("prompt_tokens_total", "Prompt tokens of requests with exact counts.");
pub(super) const COMPLETION_TOKENS: Family =
    counter("completion_tokens_total", "Completion tokens of requests with exact counts.");
pub(super) const CACHED_TOKENS: Family = counter(
    "cached_prompt_tokens_total",
    "Prompt tokens found in the prefix cache, where the engine says so: a part of the prompt tokens.",
);
pub(super) const REASONING_TOKENS: Family = counter(
    "reasoning_tokens_total",
    "Completion tokens that were reasoning, where the engine says so: a part of the completion tokens.",
);
pub(super) const CACHE_REPORTED: Family = counter(
    "cache_reported_prompt_tokens_total",
    "Prompt tokens of requests whose cached count is known: the denominator of the cache hit share.",
);
pub(super) const PARTIAL_TOKENS: Family = counter(
    "partial_completion_tokens_total",
    "Lower bounds of the completion tokens of requests that broke off; in no other counter.",
);
pub(super) const ANOMALIES: Family = counter(
    "usage_anomalies_total",
    "Counts in answers that could not be read or contradicted each other.",
);
pub(super) const PREFILL: Family = histogram(
    "prefill_duration_seconds",
    DURATION,
    "Time from asking a prefill worker to the end of its reply: reading the prompt and handing over its KV cache.",
);
pub(super) const TENANT_TOKENS: Family =
    counter("tenant_tokens_total", "Tokens of requests with exact counts, by who is charged.");
pub(super) const USAGE: Family =
    counter("usage_total", "Finished requests by how complete their token counts are.");
pub(super) const REQUEST_PROMPT: Family =
    histogram("request_prompt_tokens", TOKENS, "Prompt tokens of a request with exact counts.");
pub(super) const REQUEST_COMPLETION: Family = histogram(
    "request_completion_tokens",
    TOKENS,
    "Completion tokens of a request with exact counts.",
);

/// Every family of [`MetricsSink`](super::MetricsSink).
pub const FAMILIES: [Family; 19] = [
    REQUESTS,
    IN_FLIGHT,
    REQUEST_DURATION,
    FIRST_BYTE,
    FIRST_TOKEN,
    PER_OUTPUT_TOKEN,
    INTER_CHUNK,
    PROMPT_TOKENS,
    COMPLETION_TOKENS,
    CACHED_TOKENS,
    REASONING_TOKENS,
    CACHE_REPORTED,
    PARTIAL_TOKENS,
    ANOMALIES,
    PREFILL,
    TENANT_TOKENS,
    USAGE,
    REQUEST_PROMPT,
    REQUEST_COMPLETION,
];

pub(super) const fn counter(name: &'static str, help: &'static str) -> Family {
    Family { name, kind: Kind::Counter, help }
}

pub(super) const fn histogram(
    name: &'static str,
    bounds: &'static [f64],
    help: &'static str,
) -> Family {
    Family { name, kind: Kind::Histogram(bounds), help }
}
