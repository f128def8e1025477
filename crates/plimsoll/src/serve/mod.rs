//! The router as a process: listeners, threads, signals.
//!
//! The main thread runs what is beside the traffic: accepting, probes, the metrics page, signals.
//! Each serving thread has a runtime, a router and connections of its own, and a connection lives
//! and dies on one of them (see [`threads`]).

mod accept;
mod answering;
mod assembly;
mod connection;
mod family;
mod found;
mod loads;
mod metering;
mod names;
mod page;
#[cfg(feature = "kubernetes")]
mod pods;
mod readings;
mod reload;
mod signals;
mod smg;
mod socket;
mod threads;
mod upload;
mod worker_metrics;

use std::{
    future::{Future, pending},
    io,
    sync::Arc,
    time::Duration,
};

use plimsoll::{Exporter, UsageLog};
use plimsoll_router::Cluster;
use tokio::{
    net::TcpListener,
    runtime,
    task::{JoinError, JoinSet},
    time::{MissedTickBehavior, interval},
};

#[cfg(feature = "kubernetes")]
pub(crate) use self::pods::{PodsError, find as find_pods};
pub(crate) use self::signals::Signals;
pub(crate) use self::{assembly::workers, names::look_up, reload::Reload};
use self::{
    assembly::{exporter, router_config},
    loads::Loads,
    metering::Metering,
    page::Pages,
    readings::Readings,
    signals::{HangUp, HangUps},
    threads::Threads,
};
use crate::flags::{Listen, Settings};
#[cfg(feature = "tls")]
use crate::tls::Serving;

/// How often piled-up histogram samples are taken in.
const UPKEEP: Duration = Duration::from_secs(5);

/// Why the process cannot serve.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ServeError {
    /// An address cannot be listened on.
    #[error("cannot listen on {address} ({flag}): {source}")]
    Listen { address: String, flag: &'static str, source: io::Error },
    /// The usage log cannot be opened.
    #[error("--usage-log: cannot write {path}: {source}")]
    UsageLog { path: String, source: io::Error },
    /// There is no API server to find workers with.
    #[cfg(feature = "kubernetes")]
    #[error("--service-discovery: {0}")]
    Pods(#[from] PodsError),
    /// TLS cannot be spoken.
    #[cfg(feature = "tls")]
    #[error("--tls-cert-path: {0}")]
    Tls(#[from] crate::tls::TlsError),
    /// A runtime or thread cannot be made.
    #[error("cannot start: {0}")]
    Start(#[from] io::Error),
    /// What is done beside the traffic, as probes are, is done no more.
    #[error("stopped by a fault in plimsoll: {0}")]
    Fault(JoinError),
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
    cluster: Arc<Cluster>,
    hang_ups: HangUps,
    #[cfg(feature = "tls")]
    tls: Option<Serving>,
    /// What is read anew at `SIGHUP`, beside the usage log.
    reload: Option<Reload>,
    grace_period: Duration,
    background: JoinSet<()>,
}

/// Runs the router until a signal ends it.
pub(crate) fn run(settings: Settings, reload: Reload) -> Result<(), ServeError> {
    block_on(async {
        let mut server = Server::start(settings).await?;
        // Whoever reads that it serves may end it.
        let signals = Signals::new()?;
        #[cfg(feature = "tls")]
        let (reload, scheme) =
            (reload.with_tls(server.tls.clone()), server.tls.as_ref().map_or("http", |_| "https"));
        #[cfg(not(feature = "tls"))]
        let scheme = "http";
        server.reload = Some(reload);
        let (serving, metrics) = server.addresses()?;
        tracing::info!("serving on {scheme}://{serving}, metrics on http://{metrics}/metrics");
        server.serve(signals).await
    })?
}

/// Moves `future` on to its end, on a runtime of this thread's own. A name that is looked up still is
/// not waited for: its server may be silent for long.
pub(crate) fn block_on<T>(future: impl Future<Output = T>) -> io::Result<T> {
    let runtime = runtime()?;
    let output = runtime.block_on(future);
    runtime.shutdown_background();
    Ok(output)
}

fn runtime() -> io::Result<runtime::Runtime> {
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
        let readings =
            Arc::new(Readings::new(cluster.clone(), &settings.readings, key, &settings.upstream));
        cluster.read_loads_from(Arc::new(Loads::new(readings.clone())));
        let usage_log = metering::open(settings.usage_log.as_ref())?;
        let exporter = exporter(&settings, &cluster, &readings, usage_log.as_ref());
        let metering = Metering::new(&settings, &exporter, usage_log.as_ref());
        #[cfg(feature = "tls")]
        let tls = settings.identity.as_ref().map(Serving::new).transpose()?;
        let threads = Threads::start(
            &cluster,
            &metering,
            settings.request_timeout,
            #[cfg(feature = "tls")]
            tls.as_ref(),
        )?;
        let mut background = cluster.probe();
        background.spawn(readings.clone().follow());
        background.spawn(names::follow(cluster.clone(), settings.worker_names));
        #[cfg(feature = "kubernetes")]
        if let Some(pods) = settings.pods {
            background.spawn(pods::Source::new(pods).await?.follow(cluster.clone()));
        }
        Ok(Self {
            exporter,
            readings,
            listener,
            metrics_listener,
            threads,
            usage_log,
            cluster,
            hang_ups: HangUps::new()?,
            #[cfg(feature = "tls")]
            tls,
            reload: None,
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
    ///
    /// # Errors
    ///
    /// If a task beside the traffic has panicked: without probes or readings it would go on blindly.
    pub(crate) async fn serve(self, mut signals: Signals) -> Result<(), ServeError> {
        let Self { exporter, readings, listener, metrics_listener, usage_log, .. } = self;
        let Self { mut threads, mut hang_ups, grace_period, mut background, .. } = self;
        let Self { cluster, mut reload, .. } = self;
        let mut hang_up = HangUp { cluster, reload: reload.as_mut(), log: usage_log.as_ref() };
        let pages = Pages { exporter: exporter.clone(), readings };
        background.spawn(page::serve(metrics_listener, pages));
        background.spawn(keep_up(exporter));
        let outcome = tokio::select! {
            () = accept::hand_out(listener, &threads) => Ok(()),
            () = signals.next() => Ok(()),
            () = hang_up.heed(&mut hang_ups) => Ok(()),
            fault = panicked(&mut background) => Err(ServeError::Fault(fault)),
        };
        tracing::info!("stopping: running requests have {} s", grace_period.as_secs());
        threads.stop(grace_period);
        tokio::select! {
            () = threads.ended() => {}
            () = signals.next() => {
                tracing::warn!("stopping at once: a second signal came");
                threads.stop(Duration::ZERO);
                threads.ended().await;
            }
            () = hang_up.heed(&mut hang_ups) => {}
        }
        if let Some(log) = usage_log {
            metering::close(log).await;
        }
        outcome
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

/// Ends once one of the tasks has panicked. Some end by themselves, having nothing to follow.
async fn panicked(tasks: &mut JoinSet<()>) -> JoinError {
    while let Some(ended) = tasks.join_next().await {
        if let Err(fault) = ended {
            return fault;
        }
    }
    pending().await
}

async fn listen(address: &Listen, flag: &'static str) -> Result<TcpListener, ServeError> {
    TcpListener::bind((address.host.as_str(), address.port))
        .await
        .map_err(|source| ServeError::Listen { address: address.to_string(), flag, source })
}
