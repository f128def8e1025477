//! The families of the page, each once.

use std::fmt;

use super::{
    super::{Load, WorkerReport},
    series::{WorkerLines, known},
};

/// A family of the page.
#[derive(Clone, Copy, Debug)]
pub struct Family {
    /// Its whole name.
    pub name: &'static str,
    /// Its type.
    pub kind: Kind,
    /// What it means, in one sentence.
    pub help: &'static str,
    pub(super) lines: Lines,
}

/// The type of a family.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// It rises, until what it counts begins anew.
    Counter,
    /// It rises and falls.
    Gauge,
}

/// Where a family's lines come from. A value that is not known has none.
#[derive(Clone, Copy, Debug)]
pub(super) enum Lines {
    /// One for each role and model.
    Role(fn(&Load) -> Option<f64>),
    /// One for each worker, with its model.
    Model(fn(&WorkerReport) -> Option<f64>),
    /// One for each worker, without its model.
    Worker(fn(&WorkerReport) -> Option<f64>),
    /// Any number for each worker, with these labels.
    Own(&'static [&'static str], fn(&mut WorkerLines<'_>, &WorkerReport) -> fmt::Result),
}

use self::{
    Kind::{Counter, Gauge},
    Lines::{Model, Own, Role, Worker},
};

const fn family(name: &'static str, kind: Kind, help: &'static str, lines: Lines) -> Family {
    Family { name, kind, help, lines }
}

/// Every family, sorted by name.
#[rustfmt::skip]
pub const FAMILIES: [Family; 37] = [
    family("plimsoll_kv_available_tokens", Gauge, "Tokens of KV cache that are neither used nor cached.", Role(|load| count(load.available_tokens))),
    family("plimsoll_kv_capacity_tokens", Gauge, "Tokens that the KV cache of all reporting ranks holds.", Role(|load| count(load.capacity_tokens))),
    family("plimsoll_kv_evictable_tokens", Gauge, "Tokens of KV cache that are cached and held by no request.", Role(|load| count(load.evictable_tokens))),
    family("plimsoll_kv_occupied_ratio", Gauge, "Share of the KV cache that is not available: used, evictable or held.", Role(|load| load.occupied_ratio)),
    family("plimsoll_kv_ranks_expected", Gauge, "Data ranks that the workers should have.", Role(|load| Some(load.ranks_expected.into()))),
    family("plimsoll_kv_ranks_reporting", Gauge, "Data ranks that are in the sums.", Role(|load| Some(load.ranks_reporting.into()))),
    family("plimsoll_kv_usage_ratio", Gauge, "Share of the KV cache that requests hold, ranks weighted by capacity.", Role(|load| load.usage_ratio)),
    family("plimsoll_kv_usage_ratio_max", Gauge, "Share used of the fullest pool of all ranks.", Role(|load| load.usage_ratio_max)),
    family("plimsoll_kv_used_tokens", Gauge, "Tokens of KV cache that requests hold.", Role(|load| count(load.used_tokens))),
    family("plimsoll_pool_kv_usage_ratio", Gauge, "Share used of one pool of one data rank; dp_rank is all where an engine says it of its ranks together.", Own(&["worker", "role", "model", "dp_rank", "pool"], pools)),
    family("plimsoll_queued_requests", Gauge, "Requests in the engines' queues.", Role(|load| count(load.queued_requests))),
    family("plimsoll_running_requests", Gauge, "Requests in the engines' batches.", Role(|load| count(load.running_requests))),
    family("plimsoll_worker_cache_hit_ratio", Gauge, "Share of the prompt tokens found in the prefix cache, over the last minute.", Model(|worker| worker.cache_hit_ratio)),
    family("plimsoll_worker_discarded_samples_total", Counter, "Samples of the worker's page that are no value.", Own(&["worker", "role", "reason"], discarded)),
    family("plimsoll_worker_generation_tokens_per_second", Gauge, "Tokens that the worker writes in a second.", Model(|worker| worker.generation_tokens_per_second)),
    family("plimsoll_worker_host_kv_capacity_tokens", Gauge, "Tokens that the worker's host tier holds.", Model(|worker| count(worker.host_capacity_tokens))),
    family("plimsoll_worker_host_kv_used_tokens", Gauge, "Tokens in use in the worker's host tier.", Model(|worker| count(worker.host_used_tokens))),
    family("plimsoll_worker_info", Gauge, "What the worker says of itself.", Own(&["worker", "role", "engine", "version", "model", "engine_model", "tp", "dp"], info)),
    family("plimsoll_worker_kv_available_tokens", Gauge, "Tokens of the worker's KV cache that are neither used nor cached.", Model(|worker| count(worker.load.available_tokens))),
    family("plimsoll_worker_kv_capacity_tokens", Gauge, "Tokens that the worker's KV cache holds.", Model(|worker| count(worker.load.capacity_tokens))),
    family("plimsoll_worker_kv_evictable_tokens", Gauge, "Tokens of the worker's KV cache that are cached and held by no request.", Model(|worker| count(worker.load.evictable_tokens))),
    family("plimsoll_worker_kv_occupied_ratio", Gauge, "Share of the worker's KV cache that is not available.", Model(|worker| worker.load.occupied_ratio)),
    family("plimsoll_worker_kv_prealloc_ratio", Gauge, "Share of the KV cache held for decode requests that do not run yet.", Model(|worker| worker.prealloc_ratio)),
    family("plimsoll_worker_kv_transfer_bytes_per_second", Gauge, "Mean speed of a KV transfer, over the last minute.", Model(|worker| worker.transfer_bytes_per_second)),
    family("plimsoll_worker_kv_transfer_failures_total", Counter, "KV transfers that failed, as the engine counts them.", Model(|worker| count(worker.transfer_failures_total))),
    family("plimsoll_worker_kv_transfer_seconds", Gauge, "Mean time of a KV transfer, over the last minute.", Model(|worker| worker.transfer_seconds)),
    family("plimsoll_worker_kv_usage_ratio", Gauge, "Share of the worker's KV cache that requests hold.", Model(|worker| worker.load.usage_ratio)),
    family("plimsoll_worker_kv_usage_ratio_max", Gauge, "Share used of the worker's fullest pool.", Model(|worker| worker.load.usage_ratio_max)),
    family("plimsoll_worker_kv_used_tokens", Gauge, "Tokens of the worker's KV cache that requests hold.", Model(|worker| count(worker.load.used_tokens))),
    family("plimsoll_worker_preemptions_total", Counter, "Requests put back for lack of room, as the engine counts them.", Model(|worker| count(worker.preemptions_total))),
    family("plimsoll_worker_queued_requests", Gauge, "Requests in one of the worker's queues.", Own(&["worker", "role", "model", "queue"], queues)),
    family("plimsoll_worker_reading_age_seconds", Gauge, "Time since the worker's values were read.", Worker(|worker| worker.age_seconds)),
    family("plimsoll_worker_reading_source", Gauge, "1 for each source of the worker's values.", Own(&["worker", "role", "source"], sources)),
    family("plimsoll_worker_reading_state", Gauge, "1 for how the worker's last reading went.", Own(&["worker", "role", "state"], |lines, worker| lines.bare(&[("state", &worker.state)], Some(1.0)))),
    family("plimsoll_worker_running_requests", Gauge, "Requests in the worker's batches.", Model(|worker| count(worker.load.running_requests))),
    family("plimsoll_worker_scrape_duration_seconds", Gauge, "How long the last reading took.", Worker(|worker| worker.scrape_duration_seconds)),
    family("plimsoll_worker_scrapes_total", Counter, "Readings by the state they ended in.", Own(&["worker", "role", "result"], scrapes)),
];

fn count(value: Option<u64>) -> Option<f64> {
    value.map(|value| value as f64)
}

fn pools(lines: &mut WorkerLines<'_>, worker: &WorkerReport) -> fmt::Result {
    let nameless = if worker.merges_its_ranks() { "all" } else { "0" };
    for pool in &worker.pools {
        let rank = pool.rank.as_deref().unwrap_or(nameless);
        let kinds =
            [("full", pool.usage_ratio), ("swa", pool.swa_ratio), ("mamba", pool.mamba_ratio)];
        for (kind, ratio) in kinds {
            lines.model(&[("dp_rank", rank), ("pool", kind)], ratio)?;
        }
    }
    Ok(())
}

fn queues(lines: &mut WorkerLines<'_>, worker: &WorkerReport) -> fmt::Result {
    let mut queues = worker.queues.iter();
    queues
        .try_for_each(|(queue, requests)| lines.model(&[("queue", queue)], count(Some(*requests))))
}

fn discarded(lines: &mut WorkerLines<'_>, worker: &WorkerReport) -> fmt::Result {
    let mut reasons = worker.discarded.iter();
    reasons
        .try_for_each(|(reason, samples)| lines.bare(&[("reason", reason)], count(Some(*samples))))
}

fn scrapes(lines: &mut WorkerLines<'_>, worker: &WorkerReport) -> fmt::Result {
    let mut results = worker.scrapes.iter();
    results
        .try_for_each(|(result, scrapes)| lines.bare(&[("result", result)], count(Some(*scrapes))))
}

fn sources(lines: &mut WorkerLines<'_>, worker: &WorkerReport) -> fmt::Result {
    worker.sources.iter().try_for_each(|source| lines.bare(&[("source", source)], Some(1.0)))
}

/// A worker that has said nothing yet has no line.
fn info(lines: &mut WorkerLines<'_>, worker: &WorkerReport) -> fmt::Result {
    let WorkerReport { engine, version, model, engine_model, tensor_ranks, data_ranks, .. } =
        worker;
    if engine.is_none() && version.is_none() && model.is_none() && engine_model.is_none() {
        return Ok(());
    }
    let number = |ranks: &Option<u32>| ranks.map(|ranks| ranks.to_string());
    let (tensor_ranks, data_ranks) = (number(tensor_ranks), number(data_ranks));
    let labels = [
        ("engine", known(engine.as_deref())),
        ("version", known(version.as_deref())),
        ("model", known(model.as_deref())),
        ("engine_model", known(engine_model.as_deref())),
        ("tp", known(tensor_ranks.as_deref())),
        ("dp", known(data_ranks.as_deref())),
    ];
    lines.bare(&labels, Some(1.0))
}

// === impl Family ===

impl Family {
    /// The names of its labels.
    #[must_use]
    pub fn labels(&self) -> &'static [&'static str] {
        match self.lines {
            Lines::Role(_) => &["role", "model"],
            Lines::Model(_) => &["worker", "role", "model"],
            Lines::Worker(_) => &["worker", "role"],
            Lines::Own(labels, _) => labels,
        }
    }
}

// === impl Kind ===

impl Kind {
    /// As the TYPE line has it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Counter => "counter",
            Self::Gauge => "gauge",
        }
    }
}
