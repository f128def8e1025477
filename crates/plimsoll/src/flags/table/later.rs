//! Flags that are checked already and have no effect yet. This file is the list of them: one that
//! is built moves to the group it belongs to, and the warning about it goes by itself.

use clap::Args;

use super::{DAY_MS, YEAR_SECS, at_least, choices::Engine, within};

/// All of them.
#[derive(Debug, Args)]
#[command(next_help_heading = "Accepted, without effect in this version")]
pub(crate) struct Later {
    #[command(flatten)]
    _affinity: Affinity,
    #[command(flatten)]
    _admission: Admission,
    #[command(flatten)]
    _retries: Retries,
    #[command(flatten)]
    _breaker: Breaker,
    #[command(flatten)]
    _starting: Starting,
    #[command(flatten)]
    _answers: Answers,
}

/// How `cache_aware` weighs a prompt already seen against load.
#[derive(Debug, Args)]
struct Affinity {
    /// Share of a prompt that must have been seen, 0 to 1
    #[arg(long, value_name = "RATIO", default_value_t = 0.3, value_parser = within(0.0..=1.0))]
    cache_threshold: f64,

    /// Difference in load, in requests, from which load goes first
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = at_least(0_u64))]
    balance_abs_threshold: u64,

    /// Quotient of loads from which load goes first
    #[arg(long, value_name = "RATIO", default_value_t = 1.5, value_parser = at_least(0.0))]
    balance_rel_threshold: f64,

    /// Most characters of prompts remembered
    #[arg(long, value_name = "CHARS", default_value_t = 1 << 26, value_parser = at_least(1_u64))]
    max_tree_size: u64,

    /// Time between clean-ups of what is remembered
    #[arg(long, value_name = "SECS", default_value_t = 60, value_parser = within(1..=YEAR_SECS))]
    eviction_interval_secs: u64,
}

/// How many requests are let in.
#[derive(Debug, Args)]
struct Admission {
    /// Requests at a time; -1 for any number
    #[arg(
        long,
        value_name = "N",
        allow_negative_numbers = true,
        default_value_t = -1,
        value_parser = at_least(-1_i64)
    )]
    max_concurrent_requests: i64,

    /// Requests that may wait for their turn
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = at_least(0_usize))]
    queue_size: usize,

    /// Longest time in the queue
    #[arg(long, value_name = "SECS", default_value_t = 60, value_parser = within(1..=YEAR_SECS))]
    queue_timeout_secs: u64,

    /// Requests let in a second [default: --max-concurrent-requests]
    #[arg(long, value_name = "N", value_parser = at_least(1_u64))]
    rate_limit_tokens_per_second: Option<u64>,

    /// KV fullness from which requests wait, 0 to 1 [default: off]
    #[arg(long, value_name = "RATIO", value_parser = within(0.0..=1.0))]
    kv_admission_threshold: Option<f64>,
}

/// What happens when an attempt fails.
#[derive(Debug, Args)]
struct Retries {
    /// Attempts after the first
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = at_least(0_u32))]
    retry_max_retries: u32,

    /// Wait before the first retry
    #[arg(long, value_name = "MS", default_value_t = 50, value_parser = within(0..=DAY_MS))]
    retry_initial_backoff_ms: u64,

    /// Longest wait before a retry
    #[arg(long, value_name = "MS", default_value_t = 30_000, value_parser = within(0..=DAY_MS))]
    retry_max_backoff_ms: u64,

    /// Growth of the wait from retry to retry
    #[arg(long, value_name = "FACTOR", default_value_t = 1.5, value_parser = at_least(1.0))]
    retry_backoff_multiplier: f64,

    /// Share of the wait left to chance, 0 to 1
    #[arg(long, value_name = "RATIO", default_value_t = 0.2, value_parser = within(0.0..=1.0))]
    retry_jitter_factor: f64,

    /// One attempt only
    #[arg(long)]
    disable_retries: bool,
}

/// When a failing worker is left alone.
#[derive(Debug, Args)]
struct Breaker {
    /// Failures that open a worker's breaker
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = at_least(1_u32))]
    cb_failure_threshold: u32,

    /// Successes that close it
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least(1_u32))]
    cb_success_threshold: u32,

    /// Time it stays open before a trial
    #[arg(long, value_name = "SECS", default_value_t = 10, value_parser = within(1..=YEAR_SECS))]
    cb_timeout_duration_secs: u64,

    /// Time in which failures are counted
    #[arg(long, value_name = "SECS", default_value_t = 60, value_parser = within(1..=YEAR_SECS))]
    cb_window_duration_secs: u64,

    /// Never leave a worker alone
    #[arg(long)]
    disable_circuit_breaker: bool,
}

/// How workers are recognised and waited for.
#[derive(Debug, Args)]
struct Starting {
    /// Hand-over protocol between prefill and decode
    #[arg(long, value_enum, default_value_t = Engine::Auto)]
    engine: Engine,

    /// Longest wait for a worker's first sign of life
    #[arg(long, value_name = "SECS", default_value_t = 1800, value_parser = within(1..=YEAR_SECS))]
    worker_startup_timeout_secs: u64,

    /// Time between looks at a worker that starts
    #[arg(long, value_name = "SECS", default_value_t = 30, value_parser = within(1..=YEAR_SECS))]
    worker_startup_check_interval: u64,
}

/// How clients are answered.
#[derive(Debug, Args)]
struct Answers {
    /// Silence after which a stream gets a comment; 0 for never
    #[arg(long, value_name = "SECS", default_value_t = 0, value_parser = within(0..=YEAR_SECS))]
    sse_keepalive_secs: u64,

    /// Origins whose pages may call the router
    #[arg(long, num_args = 0.., value_name = "ORIGIN")]
    cors_allowed_origins: Vec<String>,
}
