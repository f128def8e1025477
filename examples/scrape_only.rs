//! The readings without a router: how full the KV caches of some engines are, every two seconds.
//!
//! ```text
//! cargo run -p examples --example scrape_only -- http://127.0.0.1:30000 http://127.0.0.1:30001
//! ```
//!
//! Each look is a line for each engine on standard output: its URL, how it was read, and how full its KV
//! cache is, where that is known.

use std::{error::Error, sync::Arc, time::Duration};

use plimsoll_scrape::{ScrapeConfig, Scraper, Target, WorkerReading};
use plimsoll_wire::{Backend, Role};

/// The time between looks, and between readings of one engine.
const INTERVAL: Duration = Duration::from_secs(2);

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let scraper = Scraper::new(ScrapeConfig::every(INTERVAL));
    for url in std::env::args().skip(1) {
        // Base URLs are without a slash at the end.
        let url: Arc<str> = url.trim_end_matches('/').into();
        let backend = Backend { url, role: Role::Plain, bootstrap_port: None };
        scraper.watch(Target { backend, metrics_urls: Vec::new() });
    }
    loop {
        tokio::time::sleep(INTERVAL).await;
        for worker in &scraper.snapshot().workers {
            println!("{}", line(worker));
        }
    }
}

fn line(worker: &WorkerReading) -> String {
    let full = worker.reading.as_ref().and_then(|reading| reading.usage_ratio());
    let full = full.map_or("unknown".to_owned(), |ratio| format!("{:.1} % full", ratio * 100.0));
    format!("{} {} {full}", worker.worker, worker.state.as_str())
}
