//! A running simulated engine.

use std::{
    net::{IpAddr, SocketAddr},
    sync::Arc,
};

use plimsoll_wire::{Engine as Kind, Role};
use tokio::task::JoinSet;

use crate::{
    bootstrap,
    config::SimConfig,
    error::SimError,
    faults::Faults,
    seen::SeenRequest,
    server::{self, accept::Listening},
    state::Engine,
    totals::Totals,
};

/// A simulated engine, serving on the runtime it was started on until dropped.
#[derive(Debug)]
pub struct SimEngine {
    engine: Arc<Engine>,
    http: Listening,
    bootstrap: Option<Listening>,
    /// Ends with the engine.
    _tending: JoinSet<()>,
}

// === impl SimEngine ===

impl SimEngine {
    /// Binds the addresses and begins to serve; a prefill engine also opens its bootstrap
    /// port or side channel.
    ///
    /// # Errors
    ///
    /// When an address cannot be bound.
    pub async fn start(config: SimConfig) -> Result<Self, SimError> {
        let addr = config.addr;
        let engine = Arc::new(Engine::new(config));
        let bootstrap = match engine.config.role {
            Role::Prefill => Some(listen_bootstrap(&engine).await?),
            Role::Decode | Role::Plain => None,
        };
        let http = server::listen(Arc::clone(&engine)).await;
        let http = http.map_err(|source| SimError::Listen { addr, source })?;
        let mut tending = JoinSet::new();
        if engine.config.engine == Kind::Vllm {
            tending.spawn(Arc::clone(&engine.kept).tend());
        }
        Ok(Self { engine, http, bootstrap, _tending: tending })
    }

    /// Where the engine listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.http.addr
    }

    /// Base URL, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.http.addr)
    }

    /// Port of the bootstrap server or, of vLLM, the side channel; only a prefill engine has one.
    #[must_use]
    pub fn bootstrap_port(&self) -> Option<u16> {
        self.bootstrap.as_ref().map(|listening| listening.addr.port())
    }

    /// The settings the engine was started with.
    #[must_use]
    pub fn config(&self) -> &SimConfig {
        &self.engine.config
    }

    /// Faults to script, also while the engine runs.
    #[must_use]
    pub fn faults(&self) -> &Faults {
        &self.engine.faults
    }

    /// The last inference requests, oldest first; see [`SimConfig::seen_limit`].
    #[must_use]
    pub fn requests(&self) -> Vec<SeenRequest> {
        self.engine.seen.kept()
    }

    /// Counts since the start.
    #[must_use]
    pub fn totals(&self) -> Totals {
        *self.engine.totals.borrow()
    }

    /// KV tokens in use by requests, or kept for decode, over all ranks.
    #[must_use]
    pub fn used_tokens(&self) -> u64 {
        self.engine.ranks.iter().map(|rank| rank.view().used).sum()
    }

    /// Waits until the counts satisfy a condition, and gives them.
    pub async fn wait_for(&self, condition: impl FnMut(&Totals) -> bool) -> Totals {
        let mut totals = self.engine.totals.subscribe();
        // The sender lives in `self`, so the wait cannot fail.
        totals.wait_for(condition).await.map_or_else(|_| self.totals(), |totals| *totals)
    }

    /// Closes the listeners and every connection, as a killed engine would, and waits for that.
    pub async fn shutdown(self) {
        let Self { http, bootstrap, .. } = self;
        http.stop().await;
        if let Some(bootstrap) = bootstrap {
            bootstrap.stop().await;
        }
    }
}

async fn listen_bootstrap(engine: &Engine) -> Result<Listening, SimError> {
    let host: IpAddr = engine.config.addr.ip();
    let addr = SocketAddr::new(host, engine.config.bootstrap_port);
    let listening =
        bootstrap::listen(addr, Arc::clone(&engine.rooms), Arc::clone(&engine.kept)).await;
    let listening = listening.map_err(|source| SimError::Listen { addr, source })?;
    engine.set_bootstrap_port(listening.addr.port());
    Ok(listening)
}
