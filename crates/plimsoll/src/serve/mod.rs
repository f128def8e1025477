//! The router as a process: listeners, threads, signals.
//!
//! The main thread runs what is beside the traffic: accepting, probes, the metrics page, signals.
//! Each serving thread has a runtime, a router and connections of its own, and a connection lives
//! and dies on one of them (see [`threads`]).

mod accept;
mod connection;
mod metering;
mod page;
mod readings;
mod signals;
mod smg;
mod threads;
mod worker_metrics;

use std::{io, sync::Arc, time::Duration};

use plimsoll::{Exporter, UsageLog};
use plimsoll_router::{Cluster, RouterConfig};
use plimsoll_wire::{Backend, Role};
use tokio::{
    net::TcpListener,
    runtime,
    task::JoinSet,
    time::{MissedTickBehavior, interval},
};

pub(crate) use self::signals::Signals;
use self::{
    metering::Metering, page::Pages, readings::Readings, signals::HangUps, smg::SmgMetrics,
    threads::Threads, worker_metrics::WorkerMetrics,
};
use crate::flags::{Listen, Secret, Settings, Topology};

/// How often piled-up histogram samples are taken in.
const UPKEEP: Duration = Duration::from_secs(5);

/// The policy that chooses workers of any role.
const POLICY: &str = "round_robin";

/// The families that `--prometheus-duration-buckets` is about.
const DURATIONS: [&str; 5] = [
    "request_duration_seconds",
    "prefill_duration_seconds",
    "smg_http_request_duration_seconds",
    "smg_router_request_duration_seconds",
    "smg_router_generation_duration_seconds",
];

/// Why the process cannot serve.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    /// An address cannot be listened on.
    #[error("cannot listen on {address} ({flag}): {source}")]
    Listen { address: String, flag: &'static str, source: io::Error },
    /// The usage log cannot be opened.
    #[error("--usage-log: cannot write {path}: {source}")]
    UsageLog { path: String, source: io::Error },
    /// A runtime or thread cannot be made.
    #[error("cannot start: {0}")]
    Start(#[from] io::Error),
}

/// A router that serves.
#[derive(Debug)]
pub(crate) struct Server {
    exporter: Exporter,
    readings: Arc<Readings>,
    listener: TcpListener,
    metrics_listener: TcpListener,
    threads: Threads,
    usage_log: Option<UsageLog>,
    hang_ups: HangUps,
    grace_period: Duration,
    background: JoinSet<()>,
}

/// Runs the router until a signal ends it.
pub(crate) fn run(settings: Settings) -> Result<(), ServeError> {
    runtime()?.block_on(async {
        let server = Server::start(settings).await?;
        let (serving, metrics) = server.addresses()?;
        tracing::info!("serving on http://{serving}, metrics on http://{metrics}/metrics");
        server.serve(Signals::new()?).await;
        Ok(())
    })
}

/// The runtime of the main thread.
pub(crate) fn runtime() -> io::Result<runtime::Runtime> {
    runtime::Builder::new_current_thread().enable_all().build()
}

// === impl Server ===

impl Server {
    /// Listens, starts to probe the workers and starts the serving threads.
    pub(crate) async fn start(settings: Settings) -> Result<Self, ServeError> {
        let listener = listen(&settings.listen, "--host, --port").await?;
        let metrics = &settings.metrics_listen;
        let metrics_listener = listen(metrics, "--prometheus-host, --prometheus-port").await?;
        let metrics_port = metrics_listener.local_addr()?.port();
        let cluster = Cluster::new(router_config(&settings, metrics_port));
        let key = settings.readings_authorization();
        let readings = Arc::new(Readings::new(cluster.clone(), &settings.readings, key));
        let usage_log = metering::open(settings.usage_log.as_ref())?;
        let exporter = exporter(&settings, &cluster, &readings, usage_log.as_ref());
        let metering = Metering::new(&settings, &exporter, usage_log.as_ref());
        let threads = Threads::start(&cluster, &metering)?;
        let mut background = cluster.probe();
        background.spawn(readings.clone().follow());
        Ok(Self {
            exporter,
            readings,
            listener,
            metrics_listener,
            threads,
            usage_log,
            hang_ups: HangUps::new()?,
            grace_period: settings.shutdown_grace_period,
            background,
        })
    }

    /// Where clients and where Prometheus are served.
    pub(crate) fn addresses(&self) -> io::Result<(std::net::SocketAddr, std::net::SocketAddr)> {
        Ok((self.listener.local_addr()?, self.metrics_listener.local_addr()?))
    }

    /// Serves until the first signal, then lets running requests end, for the grace period at most
    /// or until the second signal. The metrics page stays until the end; each request has its line in
    /// the usage log.
    pub(crate) async fn serve(self, mut signals: Signals) {
        let Self { exporter, readings, listener, metrics_listener, usage_log, .. } = self;
        let Self { mut threads, mut hang_ups, grace_period, mut background, .. } = self;
        let pages = Pages { exporter: exporter.clone(), readings };
        background.spawn(page::serve(metrics_listener, pages));
        background.spawn(keep_up(exporter));
        tokio::select! {
            () = accept::hand_out(listener, &threads) => {}
            () = signals.next() => {}
            () = reopen(&mut hang_ups, usage_log.as_ref()) => {}
        }
        tracing::info!("stopping: running requests have {} s", grace_period.as_secs());
        threads.stop(grace_period);
        tokio::select! {
            () = threads.ended() => {}
            () = signals.next() => {
                tracing::warn!("stopping at once: a second signal came");
                threads.stop(Duration::ZERO);
                threads.ended().await;
            }
            () = reopen(&mut hang_ups, usage_log.as_ref()) => {}
        }
        if let Some(log) = usage_log {
            metering::close(log).await;
        }
    }
}

/// Takes in piled-up histogram samples, until the task is dropped.
async fn keep_up(exporter: Exporter) {
    let mut ticks = interval(UPKEEP);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        ticks.tick().await;
        exporter.upkeep();
    }
}

/// Opens the usage log anew at each `SIGHUP`. Never returns.
async fn reopen(hang_ups: &mut HangUps, log: Option<&UsageLog>) {
    loop {
        hang_ups.next().await;
        if let Some(log) = log {
            log.reopen();
        }
    }
}

fn exporter(
    settings: &Settings,
    cluster: &Arc<Cluster>,
    readings: &Arc<Readings>,
    usage_log: Option<&UsageLog>,
) -> Exporter {
    let mut exporter = Exporter::builder()
        .max_models(settings.model_label_max)
        .genai(settings.genai_metrics)
        .source(Arc::new(WorkerMetrics::new(cluster.clone())))
        .source(readings.clone());
    if settings.smg_metrics {
        let policies = cluster.needed_roles().iter().map(|&role| (role, POLICY));
        exporter = exporter
            .smg(true)
            .policies(policies.collect())
            .source(Arc::new(SmgMetrics::new(cluster.clone(), readings.clone())));
    }
    if settings.tenant_header.is_some() {
        exporter = exporter.tenants(settings.tenant_max);
    }
    if let Some(bounds) = &settings.duration_buckets {
        for family in DURATIONS {
            exporter = exporter.buckets(family, bounds.clone());
        }
    }
    if let Some(log) = usage_log {
        exporter = exporter.source(Arc::new(log.sink()));
    }
    exporter.build()
}

async fn listen(address: &Listen, flag: &'static str) -> Result<TcpListener, ServeError> {
    TcpListener::bind((address.host.as_str(), address.port))
        .await
        .map_err(|source| ServeError::Listen { address: address.to_string(), flag, source })
}

fn router_config(settings: &Settings, metrics_port: u16) -> RouterConfig {
    let mut config = RouterConfig::new(workers(&settings.topology));
    config.max_body = settings.max_payload_size as u64;
    config.idle_timeout = settings.request_timeout;
    config.drain_grace_period = settings.shutdown_grace_period;
    config.health = settings.health.clone();
    config.request_id_headers.clone_from(&settings.request_id_headers);
    config.authorization = settings.api_key.as_ref().and_then(Secret::bearer);
    config.worker_authorization = settings.worker_api_key.as_ref().and_then(Secret::bearer);
    config.allow_client_routing = settings.allow_client_routing;
    config.metrics_address = format!("port {metrics_port}, path /metrics");
    config
}

fn workers(topology: &Topology) -> Vec<Backend> {
    let worker = |url: &String, role, bootstrap_port| Backend {
        url: url.as_str().into(),
        role,
        bootstrap_port,
    };
    match topology {
        Topology::Plain(urls) => urls.iter().map(|url| worker(url, Role::Plain, None)).collect(),
        Topology::Pd { prefill, decode } => {
            let prefill = prefill.iter().map(|(url, port)| worker(url, Role::Prefill, *port));
            prefill.chain(decode.iter().map(|url| worker(url, Role::Decode, None))).collect()
        }
    }
}
