//! Flags about how the router is run: health checks, metering, logs.

use std::path::PathBuf;

use clap::Args;

use super::{
    YEAR_SECS, at_least,
    choices::{LogLevel, StreamUsage},
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

    /// Model names with series of their own; further ones are `other`
    #[arg(long, value_name = "N", default_value_t = 100, value_parser = at_least(1_usize))]
    pub(crate) model_label_max: usize,

    /// Bucket bounds of the request duration, in seconds, rising
    #[arg(long, num_args = 1.., value_name = "SECS", value_parser = at_least(0.0_f64))]
    pub(crate) prometheus_duration_buckets: Vec<f64>,
}

/// Logs, and where further flags are read from.
#[derive(Debug, Args)]
#[command(next_help_heading = "Logs and configuration")]
pub(crate) struct Logs {
    /// Least severe level that is logged
    #[arg(long, value_name = "LEVEL", value_enum, default_value_t = LogLevel::Info)]
    pub(crate) log_level: LogLevel,

    /// Write daily log files into this directory as well
    #[arg(long, value_name = "DIR")]
    pub(crate) log_dir: Option<PathBuf>,

    /// TOML file of flags, names without dashes: `prefill = ["http://p:30000 8998"]`
    #[arg(long, value_name = "FILE")]
    pub(crate) config: Option<PathBuf>,
}
