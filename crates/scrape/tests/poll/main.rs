//! Reading engines over sockets.

mod engine;
mod fallbacks;
mod sources;
mod states;

use std::{sync::Arc, time::Duration};

use plimsoll_scrape::{ScrapeConfig, Scraper, Snapshot, State, Target, WorkerReading};
use plimsoll_wire::{Backend, Role};
use tokio::time::{self, Instant};

use self::engine::{Answer, Engine};

/// A decode server before its first batch, and after.
const BEFORE: &str = "sglang:max_total_num_tokens{tp_rank=\"0\"} 4096\n";
const AFTER: &str = "sglang:max_total_num_tokens{tp_rank=\"0\"} 4096\n\
                     sglang:kv_used_tokens{tp_rank=\"0\"} 1024\n\
                     sglang:num_running_reqs{tp_rank=\"0\"} 2\n";

/// Often, so that tests are short; patient, so that a busy machine does not fail them.
fn config() -> ScrapeConfig {
    ScrapeConfig {
        timeout: Duration::from_millis(400),
        stale_after: Duration::from_secs(1),
        ..ScrapeConfig::every(Duration::from_millis(100))
    }
}

fn target(worker: &Engine) -> Target {
    at(&worker.url)
}

fn at(url: &str) -> Target {
    let backend = Backend { url: url.into(), role: Role::Decode, bootstrap_port: None };
    Target { backend, metrics_urls: Vec::new() }
}

fn watching(worker: &Engine) -> Scraper {
    let scraper = Scraper::new(config());
    scraper.watch(target(worker));
    scraper
}

/// Waits until the workers are as they should be.
async fn until(scraper: &Scraper, done: impl Fn(&Snapshot) -> bool) -> Arc<Snapshot> {
    let wait = async {
        loop {
            let snapshot = scraper.snapshot();
            if done(&snapshot) {
                return snapshot;
            }
            time::sleep(Duration::from_millis(5)).await;
        }
    };
    match time::timeout(Duration::from_secs(10), wait).await {
        Ok(snapshot) => snapshot,
        Err(_) => panic!("still {:#?}", scraper.snapshot()),
    }
}

/// Waits until the only worker is in a state.
async fn until_state(scraper: &Scraper, state: State) -> Arc<WorkerReading> {
    let snapshot = until(scraper, |snapshot| snapshot.workers[0].state == state).await;
    Arc::clone(&snapshot.workers[0])
}

fn scrapes(worker: &WorkerReading, state: State) -> u64 {
    let at = State::ALL.iter().position(|&other| other == state).expect("a state");
    worker.scrapes[at]
}
