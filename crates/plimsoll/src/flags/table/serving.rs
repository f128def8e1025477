//! Flags about what is served: workers, listeners, policies and requests.

use clap::Args;

use super::{YEAR_SECS, at_least, choices::Policy, within};
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

    /// Engines that answer whole requests, without --pd-disaggregation
    #[arg(long, num_args = 0.., value_name = "URL")]
    pub(crate) worker_urls: Vec<String>,

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

/// Which worker a request goes to. This version knows `round_robin` only.
#[derive(Debug, Args)]
#[command(next_help_heading = "Policies (round_robin is used in this version)")]
pub(crate) struct Policies {
    /// For every role that has none of its own
    #[arg(long)]
    pub(crate) policy: Option<Policy>,

    /// For prefill engines
    #[arg(long, value_name = "POLICY", hide_possible_values = true)]
    pub(crate) prefill_policy: Option<Policy>,

    /// For decode engines
    #[arg(long, value_name = "POLICY", hide_possible_values = true)]
    pub(crate) decode_policy: Option<Policy>,
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
