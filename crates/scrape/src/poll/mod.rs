//! Reads each worker again and again, each on a task of its own.

mod about;
mod backoff;
mod board;
mod pages;
mod sglang;
mod worker;

use std::{
    collections::HashMap,
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use http::HeaderValue;
use plimsoll_wire::Backend;
use tokio::task::AbortHandle;

pub use self::sglang::role_of_mode;
use self::{board::Board, worker::Poller};
use crate::{Snapshot, fetch::Fetch};

/// How workers are read.
#[derive(Clone)]
pub struct ScrapeConfig {
    /// From the begin of one reading to that of the next.
    pub interval: Duration,
    /// How long one reading may take. Less than the interval, or readings are skipped.
    pub timeout: Duration,
    /// How old a reading may be and still count.
    pub stale_after: Duration,
    /// Sent to every worker.
    pub authorization: Option<HeaderValue>,
    /// Whom to trust among engines at `https://` URLs, and who to be to them; `None` if there are
    /// none. Without ALPN.
    #[cfg(feature = "tls")]
    pub tls: Option<Arc<rustls::ClientConfig>>,
}

/// A worker to read.
#[derive(Clone, Debug)]
pub struct Target {
    /// What it is, as configured.
    pub backend: Backend,
    /// Where its metrics pages are, one for each node, as whole URLs; empty: at `/metrics`. If one of
    /// them is no URL or has no host, no page of the worker is read, and it is
    /// [`Malformed`](crate::State::Malformed).
    pub metrics_urls: Vec<String>,
}

/// Reads workers until it is dropped.
#[derive(Debug)]
pub struct Scraper {
    config: ScrapeConfig,
    fetch: Fetch,
    board: Arc<Board>,
    tasks: Mutex<HashMap<Arc<str>, Task>>,
}

/// The task of one worker; it ends when this is dropped.
#[derive(Debug)]
struct Task(AbortHandle);

// === impl ScrapeConfig ===

impl ScrapeConfig {
    /// The shortest interval.
    pub const MIN_INTERVAL: Duration = Duration::from_millis(100);

    /// The limits that go with an interval: a time-out of 0.9 of it and at most 900 ms, and three of
    /// it until a reading is old.
    pub fn every(interval: Duration) -> Self {
        let interval = interval.max(Self::MIN_INTERVAL);
        Self {
            interval,
            timeout: interval.mul_f64(0.9).min(Duration::from_millis(900)),
            stale_after: interval * 3,
            authorization: None,
            #[cfg(feature = "tls")]
            tls: None,
        }
    }
}

/// The key stays out of it.
impl fmt::Debug for ScrapeConfig {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { interval, timeout, stale_after, .. } = self;
        f.debug_struct("ScrapeConfig")
            .field("interval", interval)
            .field("timeout", timeout)
            .field("stale_after", stale_after)
            .finish_non_exhaustive()
    }
}

impl Default for ScrapeConfig {
    fn default() -> Self {
        Self::every(Duration::from_secs(1))
    }
}

// === impl Scraper ===

impl Scraper {
    /// Nothing is read yet. An interval below [`ScrapeConfig::MIN_INTERVAL`] is raised to it.
    pub fn new(config: ScrapeConfig) -> Self {
        let config =
            ScrapeConfig { interval: config.interval.max(ScrapeConfig::MIN_INTERVAL), ..config };
        Self {
            fetch: Fetch::new(&config),
            board: Arc::new(Board::new(config.stale_after)),
            tasks: Mutex::default(),
            config,
        }
    }

    /// Reads a worker from now on, at a random moment of each interval. One that is read already is
    /// begun anew.
    ///
    /// # Panics
    ///
    /// Outside of a tokio runtime, on which the task is to run. All workers must be watched from the
    /// same one: they share a pool of connections.
    pub fn watch(&self, target: Target) {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let worker = Arc::clone(&target.backend.url);
        tasks.remove(&worker);
        let seat = self.board.seat(&worker, target.backend.role);
        let poller = Poller::new(target, seat, &self.config, self.fetch.clone());
        tasks.insert(worker, Task(tokio::spawn(poller.run()).abort_handle()));
    }

    /// Stops reading a worker; it is in no snapshot from now on. False if it was not read.
    pub fn forget(&self, worker: &str) -> bool {
        let mut tasks = self.tasks.lock().unwrap_or_else(PoisonError::into_inner);
        let known = tasks.remove(worker).is_some();
        self.board.remove(worker);
        known
    }

    /// All workers as last read, in the order in which they were watched first. A reading past its
    /// limit is left out. Never waits, and costs next to nothing while no reading passes its limit.
    pub fn snapshot(&self) -> Arc<Snapshot> {
        self.board.snapshot()
    }
}

// === impl Task ===

impl Drop for Task {
    fn drop(&mut self) {
        self.0.abort();
    }
}
