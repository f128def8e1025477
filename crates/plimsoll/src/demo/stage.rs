//! Engines and router, set up in code.

use std::{net::SocketAddr, time::Duration};

use plimsoll_sim::{Role, SimConfig, SimEngine, SimError};

use super::{ask::MODEL, error::StartError};
use crate::{
    flags::{Listen, LogLevel, Settings, Topology},
    serve::{ServeError, Server},
};

/// Where all of it listens.
const HOST: &str = "127.0.0.1";

/// KV tokens of each engine: few, so that a small load shows.
const CAPACITY: u64 = 6144;

/// How fast the engines are.
#[derive(Clone, Copy, Debug)]
pub(super) struct Pace {
    /// Fixed part of a prompt's time.
    prompt: Duration,
    /// Uncached prompt tokens computed in a second; 0 for all at once.
    prefill_rate: u64,
    /// Time between two tokens.
    token: Duration,
}

/// A prefill and a decode engine.
#[derive(Debug)]
pub(super) struct Engines {
    pub(super) prefill: SimEngine,
    pub(super) decode: SimEngine,
}

/// Where the router listens.
#[derive(Clone, Copy, Debug)]
pub(super) struct Addresses {
    pub(super) clients: SocketAddr,
    pub(super) metrics: SocketAddr,
}

/// All that answers requests. The engines live as long as it does.
#[derive(Debug)]
pub(super) struct Stage {
    pub(super) engines: Engines,
    pub(super) server: Server,
    pub(super) addresses: Addresses,
}

// === impl Pace ===

impl Pace {
    /// One that can be watched.
    pub(super) const HUMAN: Self = Self {
        prompt: Duration::from_millis(20),
        prefill_rate: 10_000,
        token: Duration::from_millis(20),
    };

    /// One for tests.
    #[cfg(test)]
    pub(super) const FAST: Self =
        Self { prompt: Duration::ZERO, prefill_rate: 0, token: Duration::from_millis(1) };
}

// === impl Engines ===

impl Engines {
    async fn start(pace: Pace) -> Result<Self, SimError> {
        let config = SimConfig::default()
            .model(MODEL.to_owned())
            .capacity_tokens(CAPACITY)
            .cache_report(true)
            .time_to_first_token(pace.prompt)
            .prefill_rate(pace.prefill_rate)
            .token_interval(pace.token);
        let prefill = SimEngine::start(config.clone().role(Role::Prefill)).await?;
        let decode = SimEngine::start(config.role(Role::Decode)).await?;
        Ok(Self { prefill, decode })
    }

    fn topology(&self) -> Topology {
        Topology::Pd {
            prefill: vec![(self.prefill.url(), self.prefill.bootstrap_port())],
            decode: vec![self.decode.url()],
        }
    }
}

// === impl Stage ===

impl Stage {
    /// Starts the engines on ports of the system's choice, and a router in front of them.
    pub(super) async fn start(
        port: u16,
        metrics_port: u16,
        pace: Pace,
    ) -> Result<Self, StartError> {
        let engines = Engines::start(pace).await?;
        let on = |port| Listen { host: HOST.to_owned(), port };
        let settings = Settings {
            listen: on(port),
            metrics_listen: on(metrics_port),
            shutdown_grace_period: Duration::from_secs(2),
            log_level: LogLevel::Warn,
            ..Settings::new(engines.topology())
        };
        let server = Server::start(settings).await.map_err(StartError::from)?;
        let (clients, metrics) = server.addresses()?;
        Ok(Self { engines, server, addresses: Addresses { clients, metrics } })
    }
}

// === impl StartError ===

impl From<ServeError> for StartError {
    fn from(error: ServeError) -> Self {
        match error {
            ServeError::Listen { address, flag, source } => {
                let is_metrics = flag.contains("--prometheus-port");
                let flag = if is_metrics { "--prometheus-port" } else { "--port" };
                Self::Listen { address, flag, source }
            }
            other => Self::Serve(other),
        }
    }
}
