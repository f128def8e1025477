use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};

use arc_swap::ArcSwap;
use http::{Uri, uri};
use plimsoll_wire::{Backend, Role};

use super::Model;

/// One worker and what is known of it.
#[derive(Debug)]
pub struct Worker {
    backend: Backend,
    authority: uri::Authority,
    up: AtomicBool,
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
    /// A worker that is not up yet; `None` if its URL is none.
    pub(crate) fn new(backend: Backend) -> Option<Self> {
        let authority = backend.url.parse::<Uri>().ok()?.into_parts().authority?;
        Some(Self {
            backend,
            authority,
            up: AtomicBool::new(false),
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

    pub(crate) fn set_up(&self, up: bool) {
        self.up.store(up, Ordering::Relaxed);
    }

    pub(crate) fn models(&self) -> Arc<Vec<Model>> {
        self.models.load_full()
    }

    pub(crate) fn set_models(&self, models: Vec<Model>) {
        self.models.store(Arc::new(models));
    }

    /// The host without the brackets of an IPv6 address, as SGLang's `bootstrap_host` wants it.
    pub(crate) fn host(&self) -> &str {
        self.authority.host().trim_start_matches('[').trim_end_matches(']')
    }

    /// This worker's URI for a path.
    pub(crate) fn uri(&self, path: uri::PathAndQuery) -> Uri {
        let mut parts = uri::Parts::default();
        parts.scheme = Some(uri::Scheme::HTTP);
        parts.authority = Some(self.authority.clone());
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

    /// The leg ended so. The first result stands.
    pub(crate) fn settle(&mut self, result: AttemptResult) {
        if self.result == AttemptResult::Cancelled {
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
