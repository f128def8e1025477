//! Flags about what is let in, and about what fails.

use clap::Args;

use super::{DAY_MS, YEAR_SECS, at_least, within};

/// How many requests are let in.
#[derive(Debug, Args)]
#[command(next_help_heading = "Load")]
pub(crate) struct Load {
    /// Requests at a time, each until its answer has ended; -1 for any number
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        default_value_t = -1,
        value_parser = at_least(-1_i64)
    )]
    pub(crate) max_concurrent_requests: i64,

    /// Requests let in a second, in bursts of as many [default: any number]
    #[arg(long, value_name = "N", value_parser = at_least(1_u64))]
    pub(crate) rate_limit_tokens_per_second: Option<u64>,

    /// Requests at a time that a worker gets [default: any number]
    #[arg(long, value_name = "N", value_parser = at_least(1_usize))]
    pub(crate) worker_max_in_flight: Option<usize>,

    /// The same for prefill engines
    #[arg(long, value_name = "N", value_parser = at_least(1_usize))]
    pub(crate) prefill_max_in_flight: Option<usize>,

    /// The same for decode engines
    #[arg(long, value_name = "N", value_parser = at_least(1_usize))]
    pub(crate) decode_max_in_flight: Option<usize>,

    /// Fullness of a decode or plain engine's KV cache from which it gets no more requests, 0 to 1
    /// [default: off]
    #[arg(long, value_name = "RATIO", value_parser = within(0.0..=1.0))]
    pub(crate) kv_admission_threshold: Option<f64>,

    /// Requests that may wait for room; further ones are a 429
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = at_least(0_usize))]
    pub(crate) queue_size: usize,

    /// Longest wait for room; then it is a 503
    #[arg(long, value_name = "SECS", default_value_t = 60, value_parser = within(1..=YEAR_SECS))]
    pub(crate) queue_timeout_secs: u64,
}

/// What happens when an attempt fails.
#[derive(Debug, Args)]
#[command(next_help_heading = "Failures")]
pub(crate) struct Failures {
    /// Attempts after the first, each on other workers than those that failed
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = at_least(0_u32))]
    pub(crate) retry_max_retries: u32,

    /// Wait before the first retry
    #[arg(long, value_name = "MS", default_value_t = 50, value_parser = within(0..=DAY_MS))]
    pub(crate) retry_initial_backoff_ms: u64,

    /// Longest wait before a retry
    #[arg(long, value_name = "MS", default_value_t = 30_000, value_parser = within(0..=DAY_MS))]
    pub(crate) retry_max_backoff_ms: u64,

    /// Growth of the wait from retry to retry
    #[arg(long, value_name = "FACTOR", default_value_t = 1.5, value_parser = at_least(1.0))]
    pub(crate) retry_backoff_multiplier: f64,

    /// Share of the wait left to chance, 0 to 1
    #[arg(long, value_name = "RATIO", default_value_t = 0.2, value_parser = within(0.0..=1.0))]
    pub(crate) retry_jitter_factor: f64,

    /// One attempt only
    #[arg(long)]
    pub(crate) disable_retries: bool,

    /// Failures in a row that open a worker's breaker
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = at_least(1_u32))]
    pub(crate) cb_failure_threshold: u32,

    /// Successes that close it
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least(1_u32))]
    pub(crate) cb_success_threshold: u32,

    /// Time it stays open before a trial
    #[arg(long, value_name = "SECS", default_value_t = 10, value_parser = within(1..=YEAR_SECS))]
    pub(crate) cb_timeout_duration_secs: u64,

    /// Failures further apart are not in a row
    #[arg(long, value_name = "SECS", default_value_t = 60, value_parser = within(1..=YEAR_SECS))]
    pub(crate) cb_window_duration_secs: u64,

    /// Never leave a worker alone
    #[arg(long)]
    pub(crate) disable_circuit_breaker: bool,
}
