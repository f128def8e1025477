#[cfg(test)]
mod tests;

use std::sync::atomic::{AtomicBool, Ordering};

use super::{Candidate, Hint, Policy, ties::Rotation};

/// Who is within this share of the best one's whole cache is as good.
const TIE: f64 = 0.01;

/// The worker with the most free KV cache, among those of which it is known.
#[derive(Debug)]
pub(super) struct LeastKv {
    role: &'static str,
    /// No worker's reading was known at the last look.
    blind: AtomicBool,
    ties: Rotation,
}

/// How free caches are compared.
#[derive(Clone, Copy, Debug)]
enum Measure {
    /// By tokens, where each capacity is known.
    Tokens,
    /// By share of its own cache, else.
    Share,
}

// === impl LeastKv ===

impl LeastKv {
    pub(super) fn new(role: &'static str) -> Self {
        Self { role, blind: AtomicBool::new(false), ties: Rotation::default() }
    }

    /// Says once that all readings are lost, and once that there are some again.
    fn note(&self, blind: bool) {
        let Self { role, blind: before, .. } = self;
        if before.load(Ordering::Relaxed) == blind || before.swap(blind, Ordering::Relaxed) == blind
        {
            return;
        }
        if blind {
            tracing::warn!(
                "no {role} worker has a KV reading: least_kv falls back to the fewest in flight"
            );
        } else {
            tracing::info!("{role} workers have KV readings again: least_kv goes by them");
        }
    }
}

impl Policy for LeastKv {
    fn pick(&self, candidates: &[Candidate<'_>], _: &Hint<'_>) -> Option<usize> {
        if candidates.is_empty() {
            return None;
        }
        let measure = Measure::of(candidates);
        let best = candidates.iter().filter_map(|one| measure.free(one)).max_by(by_free);
        self.note(best.is_none());
        let Some((most, whole)) = best else { return self.ties.fewest_in_flight(candidates) };
        let enough = most - whole * TIE;
        let is_as_good =
            |one: &Candidate<'_>| measure.free(one).is_some_and(|(free, _)| free >= enough);
        self.ties.fewest_in_flight_of(candidates, is_as_good)
    }

    fn needs_load(&self) -> bool {
        true
    }
}

fn by_free(one: &(f64, f64), other: &(f64, f64)) -> std::cmp::Ordering {
    one.0.total_cmp(&other.0)
}

// === impl Measure ===

impl Measure {
    fn of(candidates: &[Candidate<'_>]) -> Self {
        let by_share = |one: &Candidate<'_>| ratio(one).is_some() && capacity(one).is_none();
        if candidates.iter().any(by_share) { Self::Share } else { Self::Tokens }
    }

    /// What is free of a worker's cache, and the whole of it; `None` if it is not known.
    fn free(self, candidate: &Candidate<'_>) -> Option<(f64, f64)> {
        let free = 1.0 - ratio(candidate)?;
        match self {
            Self::Share => Some((free, 1.0)),
            Self::Tokens => {
                let whole = capacity(candidate)? as f64;
                Some((whole * free - candidate.pending_tokens as f64, whole))
            }
        }
    }
}

/// The share in use. What is no number is not known.
fn ratio(candidate: &Candidate<'_>) -> Option<f64> {
    candidate.load.map(|load| load.usage_ratio).filter(|ratio| ratio.is_finite())
}

/// A cache that holds nothing is one of which nothing is known.
fn capacity(candidate: &Candidate<'_>) -> Option<u64> {
    candidate.load?.capacity_tokens.filter(|&tokens| tokens > 0)
}
