//! The worker that has seen most of the prompt.

mod marks;
mod seen;
mod shard;
#[cfg(test)]
mod tests;

use self::{marks::Marks, seen::Seen};
use super::{AffinityConfig, Candidate, Hint, Policy, ties::Rotation};

/// The worker that is known to have seen the longest beginning of the prompt, if that is enough of
/// it and load is even; else the one with the fewest in flight.
///
/// Of 1,000 workers and with a prompt of 1 MB, a choice took 35 µs in the mean, one of 4 workers for
/// 16 KB 18 µs, where every prompt was new and what is remembered was full or growing.
#[derive(Debug)]
pub(super) struct CacheAware {
    cache_threshold: f64,
    balance_abs_threshold: usize,
    balance_rel_threshold: f64,
    seen: Seen,
    ties: Rotation,
}

// === impl CacheAware ===

impl CacheAware {
    pub(super) fn new(config: &AffinityConfig) -> Self {
        Self {
            cache_threshold: config.cache_threshold,
            balance_abs_threshold: config.balance_abs_threshold,
            balance_rel_threshold: config.balance_rel_threshold,
            seen: Seen::new(config.max_tree_size, config.eviction_interval),
            ties: Rotation::default(),
        }
    }

    fn is_uneven(&self, candidates: &[Candidate<'_>]) -> bool {
        let counts = candidates.iter().map(|candidate| candidate.in_flight);
        let (most, fewest) = (counts.clone().max().unwrap_or(0), counts.min().unwrap_or(0));
        most - fewest > self.balance_abs_threshold
            && most as f64 > fewest as f64 * self.balance_rel_threshold
    }
}

impl Policy for CacheAware {
    fn pick(&self, candidates: &[Candidate<'_>], hint: &Hint<'_>) -> Option<usize> {
        let marks = Marks::of(hint.prompt);
        let familiar = if self.is_uneven(candidates) {
            None
        } else {
            self.seen.find(marks.beyond(self.cache_threshold), candidates)
        };
        let picked = familiar.or_else(|| self.ties.fewest_in_flight(candidates))?;
        self.seen.remember(&marks, candidates[picked].url);
        Some(picked)
    }
}
