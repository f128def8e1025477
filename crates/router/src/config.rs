use std::{fmt, time::Duration};

use http::{HeaderName, HeaderValue};
use plimsoll_wire::{Backend, Engine, Role};

use crate::{AdmissionConfig, AffinityConfig, BreakerConfig, PolicyKind};

/// What a [`Cluster`](crate::Cluster) runs on.
#[derive(Clone)]
#[non_exhaustive]
pub struct RouterConfig {
    /// The workers at the start: prefill and decode ones, or plain ones; others may come later.
    pub workers: Vec<Backend>,
    /// Whether requests go to prefill/decode pairs, for good (if the workers at the start are such).
    pub paired: bool,
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
    /// When a worker that fails is left alone.
    pub breaker: BreakerConfig,
    /// What happens when a leg fails before anything was sent to the client.
    pub retry: RetryConfig,
    /// How many requests are let in.
    pub admission: AdmissionConfig,
    /// How many requests a worker gets at a time.
    pub max_in_flight: InFlightConfig,
    /// Which worker a request goes to.
    pub policies: PolicyConfig,
    /// How prefill hands over to decode; `None` for what the workers say that they are.
    pub engine: Option<Engine>,
    /// After how much silence a stream gets a comment; `None` for never.
    pub sse_keepalive: Option<Duration>,
    /// Request headers that may bring an id where there is no `x-request-id`, as which it goes on, and
    /// back to the client; the first that is there counts.
    pub request_id_headers: Vec<HeaderName>,
    /// The `authorization` that clients must send, `Bearer` included. Workers get it too, unless
    /// there is a `worker_authorization`.
    pub authorization: Option<HeaderValue>,
    /// The `authorization` that workers get.
    pub worker_authorization: Option<HeaderValue>,
    /// Whom to trust among workers at `https://` URLs, and who to be to them; `None` if there are
    /// none. Without ALPN: workers are spoken to in HTTP/1.1.
    #[cfg(feature = "tls")]
    pub tls: Option<std::sync::Arc<rustls::ClientConfig>>,
    /// Lets clients set what steers an engine.
    pub allow_client_routing: bool,
    /// Where the metrics page is, for those who ask the serving port for it.
    pub metrics_address: String,
}

/// What happens when a leg fails before anything was sent to the client.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RetryConfig {
    /// Attempts after the first, each with other workers than those that failed (5).
    pub max_retries: u32,
    /// Wait before the first of them (50 ms).
    pub initial_backoff: Duration,
    /// Longest wait (30 s).
    pub max_backoff: Duration,
    /// Growth of the wait from one to the next (1.5).
    pub multiplier: f64,
    /// Share of the wait that is left to chance (0.2).
    pub jitter: f64,
}

/// Most legs under way at a worker of each role; `None` for any number.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct InFlightConfig {
    /// Of prefill workers.
    pub prefill: Option<usize>,
    /// Of decode workers.
    pub decode: Option<usize>,
    /// Of plain workers.
    pub plain: Option<usize>,
}

/// Which worker of each role a request goes to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PolicyConfig {
    /// Of prefill workers (cache aware).
    pub prefill: PolicyKind,
    /// Of decode workers (least KV).
    pub decode: PolicyKind,
    /// Of plain workers (cache aware).
    pub plain: PolicyKind,
    /// What decides in cache-aware policies.
    pub affinity: AffinityConfig,
}

/// When a worker counts as up.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HealthConfig {
    /// The path that is probed (`/health`).
    pub endpoint: String,
    /// Time between probes (5 s), once a worker has answered.
    pub interval: Duration,
    /// Time between probes until a worker first answers (1 s).
    pub first_interval: Duration,
    /// How long it may take to (30 min): from then on the log has an error, and it is probed like
    /// any other.
    pub startup_timeout: Duration,
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
            paired: workers.iter().any(|worker| worker.role != Role::Plain),
            workers,
            max_body: 512 << 20,
            connect_timeout: Duration::from_secs(5),
            idle_timeout: Duration::from_secs(1800),
            drain_grace_period: Duration::from_secs(180),
            health: HealthConfig::default(),
            breaker: BreakerConfig::default(),
            retry: RetryConfig::default(),
            admission: AdmissionConfig::default(),
            max_in_flight: InFlightConfig::default(),
            policies: PolicyConfig::default(),
            engine: None,
            sse_keepalive: None,
            request_id_headers: Vec::new(),
            authorization: None,
            worker_authorization: None,
            #[cfg(feature = "tls")]
            tls: None,
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

// === impl RetryConfig ===

impl Default for RetryConfig {
    fn default() -> Self {
        Self {
            max_retries: 5,
            initial_backoff: Duration::from_millis(50),
            max_backoff: Duration::from_secs(30),
            multiplier: 1.5,
            jitter: 0.2,
        }
    }
}

// === impl InFlightConfig ===

impl InFlightConfig {
    /// The most legs of a worker of this role.
    pub(crate) fn of(self, role: Role) -> usize {
        let most = match role {
            Role::Prefill => self.prefill,
            Role::Decode => self.decode,
            Role::Plain => self.plain,
        };
        most.unwrap_or(usize::MAX)
    }
}

// === impl PolicyConfig ===

impl PolicyConfig {
    /// That of workers of this role.
    pub fn of(self, role: Role) -> PolicyKind {
        match role {
            Role::Prefill => self.prefill,
            Role::Decode => self.decode,
            Role::Plain => self.plain,
        }
    }
}

impl Default for PolicyConfig {
    fn default() -> Self {
        Self {
            prefill: PolicyKind::CacheAware,
            decode: PolicyKind::LeastKv,
            plain: PolicyKind::CacheAware,
            affinity: AffinityConfig::default(),
        }
    }
}

// === impl HealthConfig ===

impl Default for HealthConfig {
    fn default() -> Self {
        Self {
            endpoint: "/health".to_owned(),
            interval: Duration::from_secs(5),
            first_interval: Duration::from_secs(1),
            startup_timeout: Duration::from_secs(1800),
            timeout: Duration::from_secs(5),
            failure_threshold: 3,
            success_threshold: 1,
            disabled: false,
        }
    }
}
