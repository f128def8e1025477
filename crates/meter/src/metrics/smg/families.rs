//! The table of the `smg_*` families.

use super::super::families::{FIRST, Family, Kind, counter, histogram};
use crate::gaps;

/// The bounds of the SGLang router, and further ones up to 1 h.
const DURATION: &[f64] = &[
    0.001, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 15.0, 30.0, 45.0, 60.0,
    90.0, 120.0, 180.0, 240.0, 300.0, 600.0, 1200.0, 1800.0, 3600.0,
];

/// Waits before a retry: 5 ms to 1 min.
const BACKOFF: &[f64] =
    &[0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 20.0, 30.0, 60.0];

pub(super) const HTTP_REQUESTS: Family =
    counter("smg_http_requests_total", "Finished requests by method and route.");
pub(super) const HTTP_RESPONSES: Family = counter(
    "smg_http_responses_total",
    "Answers by status, errors with the outcome of the request.",
);
pub(super) const HTTP_DURATION: Family = histogram(
    "smg_http_request_duration_seconds",
    DURATION,
    "Time from a request's arrival to the end of its response body, by method and route.",
);
pub(super) const HTTP_ACTIVE: Family = Family {
    name: "smg_http_connections_active",
    kind: Kind::Gauge,
    help: "Requests whose response body has not ended, failed or been dropped.",
};
pub(super) const REQUESTS: Family = counter("smg_router_requests_total", "Finished requests.");
pub(super) const ERRORS: Family =
    counter("smg_router_request_errors_total", "Requests that failed, by who is to blame.");
pub(super) const REQUEST_DURATION: Family = histogram(
    "smg_router_request_duration_seconds",
    DURATION,
    "Time from a request's arrival to the end of its response body, of 2xx answers.",
);
pub(super) const TOKENS: Family = counter(
    "smg_router_tokens_total",
    "Tokens read (input) and written (output) by requests with exact counts.",
);
pub(super) const FIRST_TOKEN: Family = histogram(
    "smg_router_ttft_seconds",
    FIRST,
    "Time from a request's arrival to the first text of a 2xx stream.",
);
pub(super) const PER_OUTPUT_TOKEN: Family = histogram(
    "smg_router_tpot_seconds",
    &gaps::BOUNDS,
    "Mean time per output token after the first, of streams with exact counts.",
);
pub(super) const GENERATION: Family = histogram(
    "smg_router_generation_duration_seconds",
    DURATION,
    "Time from a request's arrival to the last text of a 2xx stream.",
);
pub(super) const SELECTIONS: Family =
    counter("smg_worker_selection_total", "Workers chosen for finished requests, by policy.");
pub(super) const RETRIES: Family =
    counter("smg_worker_retries_total", "Attempts after the first, of finished requests.");
pub(super) const EXHAUSTED: Family = counter(
    "smg_worker_retries_exhausted_total",
    "Requests that were retried and failed all the same.",
);
pub(super) const BACKOFFS: Family = histogram(
    "smg_worker_retry_backoff_seconds",
    BACKOFF,
    "Waits before a retry, by which one it was.",
);

/// Every family of [`SmgSink`](super::SmgSink), by its whole name.
pub const SMG_FAMILIES: [Family; 15] = [
    HTTP_REQUESTS,
    HTTP_RESPONSES,
    HTTP_DURATION,
    HTTP_ACTIVE,
    REQUESTS,
    ERRORS,
    REQUEST_DURATION,
    TOKENS,
    FIRST_TOKEN,
    PER_OUTPUT_TOKEN,
    GENERATION,
    SELECTIONS,
    RETRIES,
    EXHAUSTED,
    BACKOFFS,
];
