use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use arc_swap::{ArcSwap, ArcSwapOption};
use http::{Uri, uri};
use plimsoll_wire::{Backend, Role};
use tokio::{
    sync::SetOnce,
    time::{Instant, sleep},
};

use super::{
    Model,
    address::{Address, AddressError},
};

/// How often a draining worker is asked whether its last leg has ended. Legs end on other threads;
/// having each of them tell would cost every request.
const DRAIN_CHECK: Duration = Duration::from_millis(50);

/// One worker and what is known of it.
#[derive(Debug)]
pub struct Worker {
    backend: Backend,
    address: Address,
    up: AtomicBool,
    /// Why it is not up, in words; nothing before its first probe has ended.
    down_reason: ArcSwapOption<String>,
    /// Set once it is to go: until when its legs may run on.
    drain_end: SetOnce<Instant>,
    in_flight: AtomicUsize,
    attempts: [AtomicU64; AttemptResult::ALL.len()],
    models: ArcSwap<Vec<Model>>,
}

/// How a worker's leg of a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptResult {
    /// Answered to the end.
    Ok,
    /// No connection.
    ConnectError,
    /// No byte for too long.
    Timeout,
    /// The connection died.
    Reset,
    /// Answered 4xx.
    Status4xx,
    /// Answered 5xx.
    Status5xx,
    /// Given up from this side: the client left, or the other leg failed.
    Cancelled,
}

/// One leg under way: counts as in flight from here to its drop, and as the result that it was
/// given, else as cancelled.
#[derive(Debug)]
pub(crate) struct Attempt {
    worker: Arc<Worker>,
    result: AttemptResult,
}

// === impl Worker ===

impl Worker {
    /// A worker that is not up yet.
    ///
    /// # Errors
    ///
    /// If its URL is none.
    pub(crate) fn new(mut backend: Backend) -> Result<Self, AddressError> {
        let address = Address::read(&backend.url)?;
        backend.url = address.url.clone();
        Ok(Self {
            backend,
            address,
            up: AtomicBool::new(false),
            down_reason: ArcSwapOption::empty(),
            drain_end: SetOnce::new(),
            in_flight: AtomicUsize::new(0),
            attempts: Default::default(),
            models: ArcSwap::default(),
        })
    }

    /// The base URL, as configured.
    pub fn url(&self) -> &Arc<str> {
        &self.backend.url
    }

    /// What it does.
    pub fn role(&self) -> Role {
        self.backend.role
    }

    /// Whether its probes say that it serves.
    pub fn is_up(&self) -> bool {
        self.up.load(Ordering::Relaxed)
    }

    /// It is to go, and gets no more requests.
    pub fn is_draining(&self) -> bool {
        self.drain_end.get().is_some()
    }

    /// Whether it may get requests: it is up and not draining.
    pub fn is_eligible(&self) -> bool {
        self.is_up() && !self.is_draining()
    }

    /// Why it gets no requests, in words; `None` if it may.
    pub fn reason(&self) -> Option<String> {
        if self.is_draining() {
            return Some("draining".to_owned());
        }
        if self.is_up() {
            return None;
        }
        let reason = self.down_reason.load();
        Some(reason.as_ref().map_or_else(|| "not probed yet".to_owned(), |why| String::clone(why)))
    }

    /// Legs under way.
    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Legs that have ended so.
    pub fn attempts(&self, result: AttemptResult) -> u64 {
        self.attempts[result as usize].load(Ordering::Relaxed)
    }

    pub(crate) fn backend(&self) -> &Backend {
        &self.backend
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    pub(crate) fn set_up(&self, up: bool) {
        self.up.store(up, Ordering::Relaxed);
    }

    pub(crate) fn set_down_reason(&self, reason: String) {
        self.down_reason.store(Some(Arc::new(reason)));
    }

    /// Gives it no more requests; those under way may run on for `grace_period`. The first such
    /// order stands.
    pub(crate) fn drain(&self, grace_period: Duration) {
        // It fails only where an order was there.
        let _ = self.drain_end.set(Instant::now() + grace_period);
    }

    /// Waits until it is to go, and then until it has no leg or the grace period is over.
    pub(crate) async fn drained(&self) {
        let end = *self.drain_end.wait().await;
        while self.in_flight() > 0 && Instant::now() < end {
            sleep(DRAIN_CHECK).await;
        }
    }

    pub(crate) fn models(&self) -> Arc<Vec<Model>> {
        self.models.load_full()
    }

    pub(crate) fn set_models(&self, models: Vec<Model>) {
        self.models.store(Arc::new(models));
    }

    /// The host without the brackets of an IPv6 address, as SGLang's `bootstrap_host` wants it.
    pub(crate) fn host(&self) -> &str {
        self.address.authority.host().trim_start_matches('[').trim_end_matches(']')
    }

    /// This worker's URI for a path.
    pub(crate) fn uri(&self, path: uri::PathAndQuery) -> Uri {
        let mut parts = uri::Parts::default();
        parts.scheme = Some(uri::Scheme::HTTP);
        parts.authority = Some(self.address.authority.clone());
        parts.path_and_query = Some(path);
        // All three parts are there and were parsed: it cannot fail.
        Uri::from_parts(parts).unwrap_or_default()
    }
}

// === impl AttemptResult ===

impl AttemptResult {
    /// Every result, in label order.
    pub const ALL: [Self; 7] = [
        Self::Ok,
        Self::ConnectError,
        Self::Timeout,
        Self::Reset,
        Self::Status4xx,
        Self::Status5xx,
        Self::Cancelled,
    ];

    /// The label value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ConnectError => "connect_error",
            Self::Timeout => "timeout",
            Self::Reset => "reset",
            Self::Status4xx => "status_4xx",
            Self::Status5xx => "status_5xx",
            Self::Cancelled => "cancelled",
        }
    }
}

// === impl Attempt ===

impl Attempt {
    pub(crate) fn new(worker: Arc<Worker>) -> Self {
        worker.in_flight.fetch_add(1, Ordering::Relaxed);
        Self { worker, result: AttemptResult::Cancelled }
    }

    pub(crate) fn worker(&self) -> &Arc<Worker> {
        &self.worker
    }

    /// The leg ended so. The first failure stands.
    pub(crate) fn settle(&mut self, result: AttemptResult) {
        if matches!(self.result, AttemptResult::Cancelled | AttemptResult::Ok) {
            self.result = result;
        }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        self.worker.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.worker.attempts[self.result as usize].fetch_add(1, Ordering::Relaxed);
    }
}
