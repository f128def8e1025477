//! The workers' KV caches, read beside the traffic.

use std::{
    collections::{HashMap, HashSet},
    sync::Arc,
};

use http::HeaderValue;
use plimsoll::PageSource;
use plimsoll_router::Cluster;
use plimsoll_scrape::{ScrapeConfig, Scraper, Snapshot, Target};
use plimsoll_wire::Backend;
use tokio::time::Instant;

use crate::{flags, upstream::Upstream};

/// Reads the workers of a cluster, those that come and go included.
#[derive(Debug)]
pub(super) struct Readings {
    scraper: Scraper,
    cluster: Arc<Cluster>,
    /// Workers, and a page of theirs in place of the usual one.
    pages: Vec<(String, String)>,
}

// === impl Readings ===

impl Readings {
    pub(super) fn new(
        cluster: Arc<Cluster>,
        settings: &flags::Readings,
        authorization: Option<HeaderValue>,
        upstream: &Upstream,
    ) -> Self {
        let flags::Readings { interval, timeout, stale_after, pages } = settings.clone();
        let config =
            ScrapeConfig { timeout, stale_after, authorization, ..ScrapeConfig::every(interval) };
        let scraper = Scraper::new(upstream.read(config));
        Self { scraper, cluster, pages }
    }

    /// Reads whatever workers there are, until the task is dropped.
    pub(super) async fn follow(self: Arc<Self>) {
        let mut changes = self.cluster.changes();
        let mut watched = HashSet::<Backend>::new();
        loop {
            changes.mark_unchanged();
            let workers = self.cluster.workers();
            // One that came back under its URL may do something else now: it is another.
            let live: HashSet<_> = workers.iter().map(|worker| worker.backend().clone()).collect();
            for gone in watched.difference(&live) {
                self.scraper.forget(&gone.url);
            }
            for worker in workers.iter().filter(|worker| !watched.contains(worker.backend())) {
                let backend = worker.backend().clone();
                let pages = self.pages.iter().filter(|(of, _)| **of == *backend.url);
                let metrics_urls = pages.map(|(_, page)| page.clone()).collect();
                self.scraper.watch(Target { backend, metrics_urls });
            }
            watched = live;
            // The cluster is held here: it cannot be gone.
            if changes.changed().await.is_err() {
                return;
            }
        }
    }

    /// All of it, as it is now.
    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        self.scraper.snapshot()
    }

    /// The model that each worker serves, of those that have said.
    pub(super) fn models(&self) -> HashMap<Arc<str>, Arc<str>> {
        let snapshot = self.snapshot();
        let models = snapshot
            .workers
            .iter()
            .filter_map(|worker| Some((worker.worker.clone(), worker.model.clone()?)));
        models.collect()
    }

    /// All of it as JSON, the document of `GET /kv`.
    pub(super) fn json(&self) -> Vec<u8> {
        let report = self.snapshot().report(Instant::now());
        // Numbers, texts and lists of them: it cannot fail.
        serde_json::to_vec(&report).unwrap_or_default()
    }
}

impl PageSource for Readings {
    fn write(&self, page: &mut String) {
        // Writing to a string cannot fail.
        let _ = self.scraper.snapshot().write_text(page, Instant::now());
    }
}
