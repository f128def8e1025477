use std::{fmt, time::Duration};

use http::{HeaderName, HeaderValue};
use plimsoll_wire::Backend;

/// What a [`Cluster`](crate::Cluster) runs on.
#[derive(Clone)]
#[non_exhaustive]
pub struct RouterConfig {
    /// The workers at the start: prefill and decode ones, or plain ones. They also say which of
    /// both the router serves, for good.
    pub workers: Vec<Backend>,
    /// Largest request body in bytes (512 MiB).
    pub max_body: u64,
    /// Longest wait for a connection to a worker (5 s).
    pub connect_timeout: Duration,
    /// Longest wait for a worker's first byte, and between its bytes (30 min). There is no limit on
    /// a whole answer.
    pub idle_timeout: Duration,
    /// How long the requests of a worker that is to go are waited for (180 s).
    pub drain_grace_period: Duration,
    /// When a worker counts as up.
    pub health: HealthConfig,
    /// Request headers that may bring an id, first match wins. The id goes on, and back to the
    /// client, as `x-request-id`.
    pub request_id_headers: Vec<HeaderName>,
    /// The `authorization` that clients must send, `Bearer` included. Workers get it too, unless
    /// there is a `worker_authorization`.
    pub authorization: Option<HeaderValue>,
    /// The `authorization` that workers get.
    pub worker_authorization: Option<HeaderValue>,
    /// Lets clients set what steers an engine.
    pub allow_client_routing: bool,
    /// Where the metrics page is, for those who ask the serving port for it.
    pub metrics_address: String,
}

/// When a worker counts as up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthConfig {
    /// The path that is probed (`/health`).
    pub endpoint: String,
    /// Time between probes (5 s); every second until a worker first answers.
    pub interval: Duration,
    /// Longest wait for a probe's answer (5 s).
    pub timeout: Duration,
    /// Failed probes in a row that take a worker out (3).
    pub failure_threshold: u32,
    /// Good probes in a row that bring it back (1). The first good one of all suffices.
    pub success_threshold: u32,
    /// No probing: every worker counts as up.
    pub disabled: bool,
}

// === impl RouterConfig ===

impl RouterConfig {
    /// The defaults, for these workers.
    pub fn new(workers: Vec<Backend>) -> Self {
        Self {
            workers,
            max_body: 512 << 20,
            connect_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(1800),
            drain_grace_period: Duration::from_secs(180),
            health: HealthConfig::default(),
            request_id_headers: vec![crate::headers::REQUEST_ID],
            authorization: None,
            worker_authorization: None,
            allow_client_routing: false,
            metrics_address: "port 29001".to_owned(),
        }
    }
}

impl fmt::Debug for RouterConfig {
    /// Without the keys.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RouterConfig")
            .field("workers", &self.workers)
            .field("health", &self.health)
            .finish_non_exhaustive()
    }
}

// === impl HealthConfig ===

impl Default for HealthConfig {
    fn default() -> Self {
        Self {
            endpoint: "/health".to_owned(),
            interval: Duration::from_secs(5),
            timeout: Duration::from_secs(5),
            failure_threshold: 3,
            success_threshold: 1,
            disabled: false,
        }
    }
}
