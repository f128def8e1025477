//! What the program runs on: plain data, defaults applied, everything checked.

use std::{fmt, path::PathBuf, time::Duration};

use http::{HeaderName, HeaderValue};
use plimsoll_router::{
    AdmissionConfig, BreakerConfig, HealthConfig, InFlightConfig, PolicyConfig, RetryConfig,
};
use plimsoll_wire::{Engine, Role};

#[cfg(feature = "kubernetes")]
use super::Pods;
use super::{
    Secret,
    table::{LogLevel, StreamUsage},
};
#[cfg(feature = "tls")]
use crate::tls::Identity;
use crate::upstream::Upstream;

/// All settings of the router.
#[derive(Clone, Debug)]
pub(crate) struct Settings {
    /// Where clients are served.
    pub(crate) listen: Listen,
    /// Where metrics and the dashboard are served.
    pub(crate) metrics_listen: Listen,
    /// Who answers the requests.
    pub(crate) topology: Topology,
    /// Those of them that are found by name; only beside pairs, and none twice.
    pub(crate) worker_names: Vec<WorkerName>,
    /// Those that are found as pods.
    #[cfg(feature = "kubernetes")]
    pub(crate) pods: Option<Pods>,
    /// Largest request body in bytes, at least 1.
    pub(crate) max_payload_size: usize,
    /// Longest wait for the first byte and between bytes of an answer, at least 1 s.
    pub(crate) request_timeout: Duration,
    /// Longest wait for running requests at shutdown; may be zero.
    pub(crate) shutdown_grace_period: Duration,
    /// When a worker counts as up.
    pub(crate) health: HealthConfig,
    /// Which worker a request goes to.
    pub(crate) policies: PolicyConfig,
    /// How many requests are let in.
    pub(crate) admission: AdmissionConfig,
    /// How many a worker gets at a time.
    pub(crate) max_in_flight: InFlightConfig,
    /// What happens when a leg fails before anything was sent.
    pub(crate) retry: RetryConfig,
    /// When a worker that fails is left alone.
    pub(crate) breaker: BreakerConfig,
    /// How prefill hands over to decode; `None` for what the workers say that they are.
    pub(crate) engine: Option<Engine>,
    /// After how much silence a stream gets a comment; `None` for never.
    pub(crate) sse_keepalive: Option<Duration>,
    /// Origins whose pages may call the router, `*` for all; may be empty.
    pub(crate) cors_allowed_origins: Vec<HeaderValue>,
    /// How the workers' metrics are read.
    pub(crate) readings: Readings,
    /// Headers that may bring a request's id, first match wins; may be empty.
    pub(crate) request_id_headers: Vec<HeaderName>,
    /// Key that clients must send. Workers get it too, unless they have one of their own.
    pub(crate) api_key: Option<Secret>,
    /// Key that workers get, if it is not `api_key`.
    pub(crate) worker_api_key: Option<Secret>,
    /// What clients are shown, if the serving port speaks TLS.
    #[cfg(feature = "tls")]
    pub(crate) identity: Option<Identity>,
    /// How engines are reached.
    pub(crate) upstream: Upstream,
    /// Whether streams are asked for their usage.
    pub(crate) stream_usage: StreamUsage,
    /// Where finished requests are written.
    pub(crate) usage_log: Option<UsageLogPlace>,
    /// Header that names the tenant; none that carries credentials.
    pub(crate) tenant_header: Option<HeaderName>,
    /// Tenants with series of their own, at least 1.
    pub(crate) tenant_max: usize,
    /// Model names with series of their own, at least 1.
    pub(crate) model_label_max: usize,
    /// Whether the metrics have the OpenTelemetry GenAI names too.
    pub(crate) genai_metrics: bool,
    /// Whether they have the names of the SGLang router too.
    pub(crate) smg_metrics: bool,
    /// How abandoned requests are read on; `None` if they are cancelled.
    pub(crate) drain: Option<Drain>,
    /// Whether clients may set what steers an engine.
    pub(crate) allow_client_routing: bool,
    /// Upper bounds of the buckets of the durations of requests and prefills in seconds, finite and
    /// rising; `None` for the meter's own.
    pub(crate) duration_buckets: Option<Vec<f64>>,
    /// Least severe level that is logged.
    pub(crate) log_level: LogLevel,
    /// Directory for daily log files.
    pub(crate) log_dir: Option<PathBuf>,
    /// What the user should know about the flags; one line each, to be logged at start.
    pub(crate) warnings: Vec<String>,
}

/// Where the usage log is written.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum UsageLogPlace {
    Stdout,
    File(PathBuf),
}

/// How far abandoned requests are read on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Drain {
    /// Longest time for one, at least 1 s.
    pub(crate) max_time: Duration,
    /// Most at a time, at least 1.
    pub(crate) max_requests: usize,
}

/// How the workers' metrics are read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Readings {
    /// Time between readings of one worker, at least 100 ms.
    pub(crate) interval: Duration,
    /// Longest wait for one, at least 1 ms.
    pub(crate) timeout: Duration,
    /// Age from which one counts no more, at least 1 ms.
    pub(crate) stale_after: Duration,
    /// Workers, as the topology has them, and a page of theirs in place of `WORKER_URL/metrics`.
    pub(crate) pages: Vec<(String, String)>,
}

/// An address to listen on.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Listen {
    /// An IP address (IPv6 without brackets) or a host name.
    pub(crate) host: String,
    /// The port; 0 for any free one.
    pub(crate) port: u16,
}

/// Workers that are found by name: each address that it has is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct WorkerName {
    /// A host name.
    pub(crate) host: String,
    /// The port of each of them, at least 1.
    pub(crate) port: u16,
    /// Prefill or decode.
    pub(crate) role: Role,
    /// That of prefill engines, if they have one.
    pub(crate) bootstrap_port: Option<u16>,
}

/// The workers, each by its base URL (`http://HOST[:PORT]`, no slash at the end), none twice.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Topology {
    /// Prefill and decode engines; at least one of each, or names or labels of them.
    Pd {
        /// Prefill engines, each with its bootstrap port if it has one.
        prefill: Vec<(String, Option<u16>)>,
        /// Decode engines.
        decode: Vec<String>,
    },
    /// Engines that answer whole requests; at least one, or labels of them.
    Plain(Vec<String>),
}

// === impl Settings ===

impl Settings {
    /// The settings of a router in front of these workers that is given no other flag.
    pub(crate) fn new(topology: Topology) -> Self {
        let everywhere = |port| Listen { host: "0.0.0.0".to_owned(), port };
        let ids = ["x-request-id", "x-correlation-id", "x-trace-id", "request-id"];
        Self {
            listen: everywhere(30001),
            metrics_listen: everywhere(29001),
            topology,
            worker_names: Vec::new(),
            #[cfg(feature = "kubernetes")]
            pods: None,
            max_payload_size: 512 << 20,
            request_timeout: Duration::from_secs(1800),
            shutdown_grace_period: Duration::from_secs(180),
            health: HealthConfig::default(),
            policies: PolicyConfig::default(),
            admission: AdmissionConfig::default(),
            max_in_flight: InFlightConfig::default(),
            retry: RetryConfig::default(),
            breaker: BreakerConfig::default(),
            engine: None,
            sse_keepalive: None,
            cors_allowed_origins: Vec::new(),
            readings: Readings::default(),
            request_id_headers: ids.map(HeaderName::from_static).into(),
            api_key: None,
            worker_api_key: None,
            #[cfg(feature = "tls")]
            identity: None,
            upstream: Upstream::default(),
            stream_usage: StreamUsage::Inject,
            usage_log: None,
            tenant_header: None,
            tenant_max: 100,
            model_label_max: 100,
            genai_metrics: false,
            smg_metrics: true,
            drain: None,
            allow_client_routing: false,
            duration_buckets: None,
            log_level: LogLevel::Info,
            log_dir: None,
            warnings: Vec::new(),
        }
    }

    /// What the workers are told where no client's own header goes on: their key, else the clients'.
    pub(crate) fn readings_authorization(&self) -> Option<HeaderValue> {
        self.worker_api_key.as_ref().or(self.api_key.as_ref()).and_then(Secret::bearer)
    }
}

// === impl Topology ===

impl Topology {
    /// The roles that have to be there to answer a request.
    pub(crate) fn roles(&self) -> &'static [Role] {
        match self {
            Self::Pd { .. } => &[Role::Prefill, Role::Decode],
            Self::Plain(_) => &[Role::Plain],
        }
    }

    /// The workers' base URLs.
    pub(crate) fn urls(&self) -> impl Iterator<Item = &str> {
        let (prefill, others) = match self {
            Self::Pd { prefill, decode } => (prefill.as_slice(), decode),
            Self::Plain(urls) => (&[] as &[_], urls),
        };
        prefill.iter().map(|(url, _)| url).chain(others).map(String::as_str)
    }
}

// === impl Readings ===

impl Default for Readings {
    fn default() -> Self {
        Self {
            interval: Duration::from_secs(1),
            timeout: Duration::from_millis(900),
            stale_after: Duration::from_secs(3),
            pages: Vec::new(),
        }
    }
}

// === impl Listen ===

impl Listen {
    /// A host without the brackets that an IPv6 address may stand in.
    pub(crate) fn bare(host: &str) -> &str {
        host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
    }
}

impl fmt::Display for Listen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, port } = self;
        if host.contains(':') { write!(f, "[{host}]:{port}") } else { write!(f, "{host}:{port}") }
    }
}
