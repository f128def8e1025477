//! From the snapshot to the report.

use std::{borrow::Cow, collections::BTreeMap};

use plimsoll_wire::Role;
use tokio::time::Instant;

use super::{
    Load, PoolReport, Report, RoleReport, UNKNOWN, Word, WorkerReport,
    totals::{Totals, sum},
};
use crate::{Discarded, Pool, Queue, Reading, Snapshot, Source, State, WorkerReading};

// === impl Snapshot ===

impl Snapshot {
    /// The snapshot as it is at `now`, added up by role and model.
    pub fn report(&self, now: Instant) -> Report {
        Report::new(self.workers.iter().map(|worker| WorkerReport::of(worker, now)).collect())
    }
}

// === impl Report ===

impl Report {
    /// Adds the workers up.
    pub fn new(workers: Vec<WorkerReport>) -> Self {
        let mut roles: BTreeMap<_, (usize, Totals)> = BTreeMap::new();
        for worker in &workers {
            // A model that is named so is one with those not known: on the page they look the same.
            let model = worker.model.as_ref().filter(|model| *model != UNKNOWN);
            let role = (order(&worker.role), &worker.role, model);
            let (count, totals) = roles.entry(role).or_default();
            *count += 1;
            totals.add(worker);
        }
        let roles = roles.into_iter().map(|((_, role, model), (workers, totals))| RoleReport {
            role: role.clone(),
            model: model.cloned(),
            workers,
            load: totals.load(),
        });
        Self { plimsoll: env!("CARGO_PKG_VERSION").into(), roles: roles.collect(), workers }
    }
}

/// A request's way through the roles.
fn order(role: &str) -> Option<Role> {
    role.parse().ok()
}

// === impl WorkerReport ===

impl WorkerReport {
    fn of(worker: &WorkerReading, now: Instant) -> Self {
        let nothing = Reading::default();
        let reading = worker.reading.as_ref().unwrap_or(&nothing);
        let pools: Vec<_> = reading.pools.iter().map(PoolReport::of).collect();
        let queues = queues(reading, worker.role);
        let (identity, trends) = (&worker.identity, &worker.trends);
        let age = worker.read_at.map(|read_at| now.saturating_duration_since(read_at));
        Self {
            worker: worker.worker.as_ref().into(),
            role: worker.role.as_str().into(),
            model: worker.model.as_deref().map(Into::into),
            state: worker.state.as_str().into(),
            hint: hint(worker),
            mismatch: worker.mismatch.as_ref().map(ToString::to_string),
            sources: worker.sources.iter().copied().map(Source::as_str).map(Word::from).collect(),
            age_seconds: age.map(|age| rounded(age.as_secs_f64(), 1e3)),
            scrape_duration_seconds: worker
                .scrape_duration
                .map(|duration| rounded(duration.as_secs_f64(), 1e6)),
            engine: identity.engine.map(Word::from),
            version: identity.version.clone(),
            engine_model: identity.engine_model.clone(),
            tensor_ranks: identity.tensor_ranks,
            data_ranks: identity.data_ranks,
            load: load(reading, &pools, &queues, identity.data_ranks),
            queues,
            host_capacity_tokens: count(reading.host_capacity),
            host_used_tokens: count(reading.host_used),
            prealloc_ratio: reading.prealloc_ratio.filter(|_| worker.role == Role::Decode),
            generation_tokens_per_second: reading.generation_rate,
            cache_hit_ratio: trends.cache_hit_ratio,
            transfer_bytes_per_second: trends.transfer_bytes_per_second,
            transfer_seconds: trends.transfer_seconds,
            preemptions_total: count(trends.preemptions),
            transfer_failures_total: count(trends.transfer_failures),
            scrapes: counted(State::ALL.map(State::as_str).into_iter().zip(worker.scrapes)),
            discarded: discarded(worker.discarded),
            pools,
        }
    }
}

// === impl PoolReport ===

impl PoolReport {
    fn of(pool: &Pool) -> Self {
        Self {
            rank: pool.rank.clone(),
            capacity_tokens: count(pool.capacity),
            used_tokens: count(pool.used),
            evictable_tokens: count(pool.evictable),
            available_tokens: count(pool.available),
            usage_ratio: pool.usage_ratio,
            swa_ratio: pool.swa_ratio,
            mamba_ratio: pool.mamba_ratio,
            usage_ratio_max: pool.usage_ratio_max,
        }
    }
}

/// What to do: about what it is first, then about how it is read.
fn hint(worker: &WorkerReading) -> Word {
    match (worker.mismatch, worker.state.hint()) {
        (None, hint) => hint.into(),
        (Some(mismatch), "") => mismatch.to_string().into(),
        (Some(mismatch), hint) => format!("{mismatch}; {hint}").into(),
    }
}

/// One worker's own sums.
fn load(
    reading: &Reading,
    pools: &[PoolReport],
    queues: &BTreeMap<Word, u64>,
    data_ranks: Option<u32>,
) -> Load {
    let mut totals = Totals::default();
    for pool in pools {
        totals.add_pool(pool);
    }
    let named = u32::try_from(pools.len()).unwrap_or(u32::MAX);
    let ranks_expected = data_ranks.unwrap_or(1).max(named).max(1);
    let full = pools.iter().filter(|pool| pool.used_tokens.is_some() || pool.usage_ratio.is_some());
    let reporting = u32::try_from(full.count()).unwrap_or(u32::MAX);
    // One pool without a name stands for all ranks: the engine has merged them.
    let merged = reporting == 1 && matches!(pools, [PoolReport { rank: None, .. }]);
    let mut queued = None;
    for waiting in queues.values() {
        sum(&mut queued, Some(*waiting));
    }
    Load {
        ranks_expected,
        ranks_reporting: if merged { ranks_expected } else { reporting },
        running_requests: count(reading.running),
        queued_requests: queued,
        ..totals.load()
    }
}

/// The queues that a role has.
fn queues(reading: &Reading, role: Role) -> BTreeMap<Word, u64> {
    let queues = Queue::ALL.into_iter().filter(|queue| queue.is_of(role));
    let known = queues.filter_map(|queue| Some((queue, count(reading.queued(queue))?)));
    known.map(|(queue, requests)| (queue.as_str().into(), requests)).collect()
}

fn discarded(discarded: Discarded) -> BTreeMap<Word, u64> {
    let Discarded { malformed, nan, negative, out_of_range, duplicate } = discarded;
    counted([
        ("malformed", malformed),
        ("nan", nan),
        ("negative", negative),
        ("out_of_range", out_of_range),
        ("duplicate", duplicate),
    ])
}

/// What was counted at least once.
fn counted(counts: impl IntoIterator<Item = (&'static str, u64)>) -> BTreeMap<Word, u64> {
    let counts = counts.into_iter().filter(|(_, count)| *count > 0);
    counts.map(|(name, count)| (Cow::Borrowed(name), count)).collect()
}

/// A count that an engine wrote as a floating-point number.
fn count(value: Option<f64>) -> Option<u64> {
    value.filter(|value| value.is_finite() && *value >= 0.0).map(|value| value.round() as u64)
}

fn rounded(value: f64, parts: f64) -> f64 {
    (value * parts).round() / parts
}
