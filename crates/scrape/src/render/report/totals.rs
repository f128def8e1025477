//! Sums and means over data ranks.

use super::{Load, PoolReport, WorkerReport};
use crate::mean::{Mean, RatioMean};

/// What is added up over the pools of one worker, or of several.
#[derive(Debug, Default)]
pub(super) struct Totals {
    load: Load,
    usage: RatioMean,
    occupied: Mean,
}

// === impl Totals ===

impl Totals {
    /// Adds a worker, whose own ranks and requests are known already.
    pub(super) fn add(&mut self, worker: &WorkerReport) {
        let WorkerReport { load, pools, .. } = worker;
        let total = &mut self.load;
        total.ranks_expected += load.ranks_expected;
        total.ranks_reporting += load.ranks_reporting;
        sum(&mut total.running_requests, load.running_requests);
        sum(&mut total.queued_requests, load.queued_requests);
        for pool in pools {
            self.add_pool(pool);
        }
    }

    /// Adds the pool of one data rank.
    pub(super) fn add_pool(&mut self, pool: &PoolReport) {
        let total = &mut self.load;
        sum(&mut total.capacity_tokens, pool.capacity_tokens);
        sum(&mut total.used_tokens, pool.used_tokens);
        sum(&mut total.evictable_tokens, pool.evictable_tokens);
        sum(&mut total.available_tokens, pool.available_tokens);
        if let Some(ratio) = pool.usage_ratio_max {
            total.usage_ratio_max =
                Some(total.usage_ratio_max.map_or(ratio, |other| other.max(ratio)));
        }
        let capacity = pool.capacity_tokens.map(|tokens| tokens as f64);
        self.usage.add(pool.usage_ratio, capacity);
        if let (Some(capacity), Some(available)) = (capacity, pool.available_tokens) {
            let occupied = (capacity - available as f64).max(0.0);
            self.occupied.add(occupied / capacity, capacity);
        }
    }

    /// The sums, with what follows from them.
    pub(super) fn load(self) -> Load {
        Load {
            usage_ratio: self.usage.get(),
            unweighted: self.usage.is_plain(),
            occupied_ratio: self.occupied.get(),
            ..self.load
        }
    }
}

/// Adds what is known.
pub(super) fn sum(total: &mut Option<u64>, value: Option<u64>) {
    if let Some(value) = value {
        *total = Some(total.unwrap_or_default().saturating_add(value));
    }
}
