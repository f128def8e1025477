//! What all connections of an engine share.

use std::{
    future::pending,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU16, AtomicUsize, Ordering},
    },
};

use plimsoll_wire::{Engine as Kind, Role, topology};
use tokio::sync::watch;

use crate::{
    bootstrap::{Peers, Rooms, nixl::Kept},
    clock,
    config::SimConfig,
    faults::Faults,
    metrics::Served,
    rank::Rank,
    seen::SeenLog,
    totals::Totals,
};

/// A running engine's state.
#[derive(Debug)]
pub(crate) struct Engine {
    pub(crate) config: SimConfig,
    pub(crate) faults: Faults,
    pub(crate) seen: SeenLog,
    pub(crate) totals: Arc<watch::Sender<Totals>>,
    pub(crate) served: Mutex<Served>,
    pub(crate) ranks: Vec<Arc<Rank>>,
    pub(crate) rooms: Arc<Rooms>,
    pub(crate) kept: Arc<Kept>,
    pub(crate) peers: Peers,
    /// When the engine started, seconds since 1970.
    pub(crate) created: u64,
    bootstrap_port: AtomicU16,
    next_rank: AtomicUsize,
    dead: watch::Sender<bool>,
}

// === impl Engine ===

impl Engine {
    pub(crate) fn new(config: SimConfig) -> Self {
        let caching = config.role != Role::Decode || config.engine == Kind::Vllm;
        let rank = || Rank::new(config.capacity_tokens, config.max_running_requests, caching);
        let totals = Arc::<watch::Sender<Totals>>::default();
        Self {
            faults: Faults::default(),
            seen: SeenLog::new(config.seen_limit),
            kept: Arc::new(Kept::new(config.kv_lease, Arc::clone(&totals))),
            totals,
            served: Mutex::default(),
            ranks: (0..config.dp.max(1)).map(|_| Arc::new(rank())).collect(),
            rooms: Arc::default(),
            peers: Peers::default(),
            created: clock::unix_seconds(),
            bootstrap_port: AtomicU16::new(config.bootstrap_port),
            next_rank: AtomicUsize::new(0),
            dead: watch::Sender::default(),
            config,
        }
    }

    /// The rank whose turn it is, and its number.
    pub(crate) fn pick_rank(&self) -> (usize, Arc<Rank>) {
        let turn = self.next_rank.fetch_add(1, Ordering::Relaxed) % self.ranks.len();
        (turn, Arc::clone(&self.ranks[turn]))
    }

    /// The bootstrap port: bound by a prefill, assumed by a decode.
    pub(crate) fn bootstrap_port(&self) -> u16 {
        match self.bootstrap_port.load(Ordering::Relaxed) {
            0 => topology::DEFAULT_BOOTSTRAP_PORT,
            port => port,
        }
    }

    pub(crate) fn set_bootstrap_port(&self, port: u16) {
        self.bootstrap_port.store(port, Ordering::Relaxed);
    }

    /// Ends the engine as a crash does: requests in work fail, and nobody is answered any more.
    pub(crate) fn die(&self) {
        if !self.dead.send_replace(true) {
            self.totals.send_modify(|totals| totals.killed += 1);
        }
    }

    pub(crate) fn is_dead(&self) -> bool {
        *self.dead.borrow()
    }

    /// Waits for the engine's death. A simulated SGLang never dies.
    pub(crate) async fn death(&self) {
        if self.config.engine == Kind::Sglang {
            return pending().await;
        }
        // The sender lives in `self`, so the wait cannot fail.
        let _ = self.dead.subscribe().wait_for(|&dead| dead).await;
    }

    /// The longest prompt taken, in tokens.
    pub(crate) fn max_prompt(&self) -> u64 {
        u64::from(self.config.context_len).min(self.config.capacity_tokens)
    }
}
