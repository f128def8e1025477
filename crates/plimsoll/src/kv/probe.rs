//! Reads engines directly.

use std::{sync::Arc, time::Duration};

use plimsoll_scrape::{ScrapeConfig, Scraper, Snapshot, State, Target};
use tokio::time::{Instant, sleep};

/// How long the first reading of an engine may take.
pub(crate) const PATIENCE: Duration = Duration::from_secs(5);

/// Time between looks at readings that are about to come.
const LOOK_AGAIN: Duration = Duration::from_millis(20);

/// Engines that are being read.
#[derive(Debug)]
pub(crate) struct Probe(Scraper);

// === impl Probe ===

impl Probe {
    pub(crate) fn new(config: ScrapeConfig) -> Self {
        Self(Scraper::new(config))
    }

    /// Reads one more engine.
    pub(crate) fn watch(&self, target: Target) {
        self.0.watch(target);
    }

    /// Reads it no more.
    pub(crate) fn forget(&self, worker: &str) {
        self.0.forget(worker);
    }

    /// The engines as soon as each was asked, or when patience ends.
    pub(crate) async fn settled(&self) -> Arc<Snapshot> {
        let begin = Instant::now();
        loop {
            let snapshot = self.0.snapshot();
            let is_pending = snapshot.workers.iter().any(|worker| worker.state == State::Pending);
            if !is_pending || begin.elapsed() >= PATIENCE {
                return snapshot;
            }
            sleep(LOOK_AGAIN).await;
        }
    }
}
