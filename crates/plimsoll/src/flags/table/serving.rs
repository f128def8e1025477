//! Flags about what is served: workers, listeners, policies and requests.

use clap::Args;

use super::{
    YEAR_SECS, at_least,
    choices::{Engine, Policy},
    within,
};
use crate::flags::Secret;

/// Who answers the requests.
#[derive(Debug, Args)]
#[command(next_help_heading = "Workers")]
pub(crate) struct Workers {
    /// Send each request to a prefill and a decode engine
    #[arg(long)]
    pub(crate) pd_disaggregation: bool,

    /// Prefill engine and its bootstrap port, if it has one (repeatable)
    #[arg(long, num_args = 1..=2, value_names = ["URL", "BOOTSTRAP_PORT|none"])]
    pub(crate) prefill: Vec<String>,

    /// Decode engine (repeatable)
    #[arg(long, value_name = "URL")]
    pub(crate) decode: Vec<String>,

    /// Prefill engines by name: each address it has, looked up every few seconds (repeatable)
    #[arg(long, num_args = 1..=2, value_names = ["NAME:PORT", "BOOTSTRAP_PORT|none"])]
    pub(crate) prefill_dns: Vec<String>,

    /// Decode engines by name (repeatable)
    #[arg(long, value_name = "NAME:PORT")]
    pub(crate) decode_dns: Vec<String>,

    /// Engines that answer whole requests, without --pd-disaggregation
    #[arg(long, num_args = 0.., value_name = "URL")]
    pub(crate) worker_urls: Vec<String>,

    /// Hand-over protocol between prefill and decode
    #[arg(long, value_enum, default_value_t = Engine::Auto)]
    pub(crate) engine: Engine,

    /// Let clients set the members and headers that steer an engine
    #[arg(long)]
    pub(crate) allow_client_routing: bool,

    /// Key that clients must send as bearer; workers get it too
    #[arg(long, value_name = "KEY")]
    pub(crate) api_key: Option<Secret>,

    /// Key for the workers, instead of --api-key
    #[arg(long, value_name = "KEY")]
    pub(crate) worker_api_key: Option<Secret>,
}

/// Where the router listens.
#[derive(Debug, Args)]
#[command(next_help_heading = "Listeners")]
pub(crate) struct Listeners {
    /// Address for clients
    #[arg(long, default_value = "0.0.0.0")]
    pub(crate) host: String,

    /// Port for clients; 0 takes any free one
    #[arg(long, default_value_t = 30001, value_parser = within(0..=u16::MAX))]
    pub(crate) port: u16,

    /// Address for metrics and the dashboard
    #[arg(long, value_name = "HOST", default_value = "0.0.0.0")]
    pub(crate) prometheus_host: String,

    /// Port for metrics and the dashboard; 0 takes any free one
    #[arg(long, value_name = "PORT", default_value_t = 29001, value_parser = within(0..=u16::MAX))]
    pub(crate) prometheus_port: u16,
}

/// Which worker a request goes to.
#[derive(Debug, Args)]
#[command(next_help_heading = "Policies")]
pub(crate) struct Policies {
    /// For every role that has none of its own [default: cache_aware; decode engines: least_kv]
    #[arg(long)]
    pub(crate) policy: Option<Policy>,

    /// For prefill engines
    #[arg(long, value_name = "POLICY", hide_possible_values = true)]
    pub(crate) prefill_policy: Option<Policy>,

    /// For decode engines
    #[arg(long, value_name = "POLICY", hide_possible_values = true)]
    pub(crate) decode_policy: Option<Policy>,

    /// cache_aware: share of a prompt that an engine must have seen to be preferred, 0 to 1
    #[arg(long, value_name = "RATIO", default_value_t = 0.3, value_parser = within(0.0..=1.0))]
    pub(crate) cache_threshold: f64,

    /// cache_aware: difference in load, in requests, above which load goes first
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = at_least(0_usize))]
    pub(crate) balance_abs_threshold: usize,

    /// cache_aware: quotient of loads above which load goes first
    #[arg(long, value_name = "RATIO", default_value_t = 1.5, value_parser = at_least(0.0))]
    pub(crate) balance_rel_threshold: f64,

    /// cache_aware: most bytes of prompts remembered
    #[arg(long, value_name = "BYTES", default_value_t = 1 << 26, value_parser = at_least(1_usize))]
    pub(crate) max_tree_size: usize,

    /// cache_aware: time between clean-ups of what is remembered
    #[arg(long, value_name = "SECS", default_value_t = 60, value_parser = within(1..=YEAR_SECS))]
    pub(crate) eviction_interval_secs: u64,
}

// === impl Policies ===

impl Policies {
    /// The policies asked for, each with its flag (without dashes).
    pub(crate) fn given(&self) -> impl Iterator<Item = (&'static str, Policy)> {
        [
            ("policy", self.policy),
            ("prefill-policy", self.prefill_policy),
            ("decode-policy", self.decode_policy),
        ]
        .into_iter()
        .filter_map(|(flag, policy)| Some((flag, policy?)))
    }
}

/// Limits and headers of a request.
#[derive(Debug, Args)]
#[command(next_help_heading = "Requests")]
pub(crate) struct Requests {
    /// Largest request body, in bytes
    #[arg(long, value_name = "BYTES", default_value_t = 512 << 20, value_parser = at_least(1_usize))]
    pub(crate) max_payload_size: usize,

    /// Longest wait for the first byte, and between bytes; never for a whole stream
    #[arg(long, value_name = "SECS", default_value_t = 1800, value_parser = within(1..=YEAR_SECS))]
    pub(crate) request_timeout_secs: u64,

    /// Silence after which a stream gets a comment; 0 for never
    #[arg(long, value_name = "SECS", default_value_t = 0, value_parser = within(0..=YEAR_SECS))]
    pub(crate) sse_keepalive_secs: u64,

    /// Origins whose pages may call the router; * for all
    #[arg(long, num_args = 0.., value_name = "ORIGIN")]
    pub(crate) cors_allowed_origins: Vec<String>,

    /// Longest wait for running requests at shutdown
    #[arg(long, value_name = "SECS", default_value_t = 180, value_parser = within(0..=YEAR_SECS))]
    pub(crate) shutdown_grace_period_secs: u64,

    /// Headers that may bring a request's id, first match wins
    #[arg(
        long,
        num_args = 0..,
        value_name = "HEADER",
        default_values = ["x-request-id", "x-correlation-id", "x-trace-id", "request-id"]
    )]
    pub(crate) request_id_headers: Vec<String>,
}
