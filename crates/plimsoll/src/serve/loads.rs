//! What routing knows of the workers' KV caches.

use std::{collections::HashMap, sync::Arc};

use arc_swap::ArcSwap;
use plimsoll_router::{Load, LoadSource};
use plimsoll_scrape::{Snapshot, State, WorkerReading};

use super::readings::Readings;

/// The readings as loads by worker, taken out of each snapshot once.
#[derive(Debug)]
pub(super) struct Loads {
    readings: Arc<Readings>,
    latest: ArcSwap<Latest>,
}

#[derive(Debug, Default)]
struct Latest {
    snapshot: Arc<Snapshot>,
    by_worker: HashMap<Arc<str>, Load>,
}

// === impl Loads ===

impl Loads {
    pub(super) fn new(readings: Arc<Readings>) -> Self {
        Self { readings, latest: ArcSwap::default() }
    }
}

impl LoadSource for Loads {
    fn load(&self, worker: &str) -> Option<Load> {
        let snapshot = self.readings.snapshot();
        let latest = self.latest.load();
        if Arc::ptr_eq(&latest.snapshot, &snapshot) {
            return latest.by_worker.get(worker).copied();
        }
        let latest = Latest::of(snapshot);
        let load = latest.by_worker.get(worker).copied();
        self.latest.store(Arc::new(latest));
        load
    }
}

// === impl Latest ===

impl Latest {
    fn of(snapshot: Arc<Snapshot>) -> Self {
        let loads = snapshot.workers.iter();
        let by_worker = loads.filter_map(|worker| Some((worker.worker.clone(), load(worker)?)));
        Self { by_worker: by_worker.collect(), snapshot }
    }
}

/// How full a worker is; of decode, what is promised to requests that wait is a part of it. One whose page says only what it can hold has run no batch, and is empty, unless another source
/// says how full it is: its first batch may be running.
fn load(worker: &WorkerReading) -> Option<Load> {
    let reading = worker.reading.as_ref()?;
    let empty = (worker.state == State::CapacityOnly).then_some(0.0);
    let used = reading.usage_ratio().or(empty)?;
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "tokens, not below 0"
    )]
    let capacity_tokens = reading.capacity().map(|capacity| capacity as u64);
    Some(Load { capacity_tokens, usage_ratio: used.clamp(0.0, 1.0), read_at: worker.read_at? })
}
