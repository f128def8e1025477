//! Flags about how the router is run: health checks, readings, metering, logs.

use std::path::PathBuf;

use clap::Args;

use super::{
    DAY_MS, YEAR_SECS, at_least,
    choices::{LogLevel, OnDisconnect, StreamUsage},
    within,
};

/// When a worker counts as up.
#[derive(Debug, Args)]
#[command(next_help_heading = "Health checks")]
pub(crate) struct Health {
    /// Failed probes in a row that take a worker out
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = at_least(1_u32))]
    pub(crate) health_failure_threshold: u32,

    /// Good probes in a row that bring it back
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least(1_u32))]
    pub(crate) health_success_threshold: u32,

    /// Longest wait for a probe's answer
    #[arg(long, value_name = "SECS", default_value_t = 5, value_parser = within(1..=YEAR_SECS))]
    pub(crate) health_check_timeout_secs: u64,

    /// Time between probes
    #[arg(long, value_name = "SECS", default_value_t = 5, value_parser = within(1..=YEAR_SECS))]
    pub(crate) health_check_interval_secs: u64,

    /// Time between probes of a worker that has not answered yet
    #[arg(long, value_name = "SECS", default_value_t = 1, value_parser = within(1..=YEAR_SECS))]
    pub(crate) worker_startup_check_interval: u64,

    /// Time within which a worker should have answered; then the log has an error
    #[arg(long, value_name = "SECS", default_value_t = 1800, value_parser = within(1..=YEAR_SECS))]
    pub(crate) worker_startup_timeout_secs: u64,

    /// Path that is probed
    #[arg(long, value_name = "PATH", default_value = "/health")]
    pub(crate) health_check_endpoint: String,

    /// Take every worker as up, without probing
    #[arg(long)]
    pub(crate) disable_health_check: bool,
}

/// What is counted, and how.
#[derive(Debug, Args)]
#[command(next_help_heading = "Metering")]
pub(crate) struct Metering {
    /// Ask engines for the usage of every stream, or only where the client did
    #[arg(long, value_name = "MODE", value_enum, default_value_t = StreamUsage::Inject)]
    pub(crate) stream_usage: StreamUsage,

    /// File of one JSON line a request, reopened on SIGHUP; - for standard output
    #[arg(long, value_name = "PATH|-")]
    pub(crate) usage_log: Option<String>,

    /// Header that names the tenant of a request; never one that carries a key
    #[arg(long, value_name = "HEADER")]
    pub(crate) tenant_header: Option<String>,

    /// Tenants with series of their own; further ones are `other`
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = at_least(1_usize))]
    pub(crate) tenant_max: usize,

    /// Model names with series of their own; further ones are `other`
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = at_least(1_usize))]
    pub(crate) model_label_max: usize,

    /// Add the OpenTelemetry GenAI names to the metrics
    #[arg(long)]
    pub(crate) genai_metrics: bool,

    /// Leave the smg_* names of the SGLang router out of the metrics
    #[arg(long)]
    pub(crate) no_smg_metrics: bool,

    /// Bucket bounds of the durations of requests and prefills, in seconds, rising
    #[arg(long, num_args = 1.., value_name = "SECS", value_parser = at_least(0.0_f64))]
    pub(crate) prometheus_duration_buckets: Vec<f64>,
}

/// What becomes of a request whose client has left.
#[derive(Debug, Args)]
#[command(next_help_heading = "Clients that leave")]
pub(crate) struct Leaving {
    /// Cancel the request, or read its answer to the end for the true count
    #[arg(long, value_name = "ACTION", value_enum, default_value_t = OnDisconnect::Cancel)]
    pub(crate) on_disconnect: OnDisconnect,

    /// Longest drain of a request
    #[arg(long, value_name = "SECS", default_value_t = 300, value_parser = within(1..=YEAR_SECS))]
    pub(crate) drain_max_secs: u64,

    /// Most requests drained at a time; further ones are cancelled
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = at_least(1_usize))]
    pub(crate) drain_max_requests: usize,
}

/// How engines' metrics are read.
#[derive(Debug, Args)]
#[command(next_help_heading = "KV-cache readings")]
pub(crate) struct Scraping {
    /// Time between readings of a worker's metrics
    #[arg(long, value_name = "MS", default_value_t = 1000, value_parser = within(100..=DAY_MS))]
    pub(crate) scrape_interval_ms: u64,

    /// Longest wait for a reading [default: 0.9 × interval, at most 900]
    #[arg(long, value_name = "MS", value_parser = within(1..=DAY_MS))]
    pub(crate) scrape_timeout_ms: Option<u64>,

    /// Age from which a reading counts no more [default: 3 × interval]
    #[arg(long, value_name = "MS", value_parser = within(1..=DAY_MS))]
    pub(crate) stale_after_ms: Option<u64>,

    /// Where a worker's metrics are, instead of WORKER_URL/metrics (repeatable)
    #[arg(long, value_name = "WORKER_URL=METRICS_URL")]
    pub(crate) worker_metrics: Vec<String>,
}

/// Logs, and where further flags are read from.
#[derive(Debug, Args)]
#[command(next_help_heading = "Logs and configuration")]
pub(crate) struct Logs {
    /// Least severe level that is logged
    #[arg(long, value_name = "LEVEL", value_enum, ignore_case = true, default_value_t = LogLevel::Info)]
    pub(crate) log_level: LogLevel,

    /// Write daily log files into this directory as well
    #[arg(long, value_name = "DIR")]
    pub(crate) log_dir: Option<PathBuf>,

    /// TOML file of flags, names without dashes: `prefill = ["http://p:30000 8998"]`
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}
