//! The document of `GET /kv`.
//!
//! ```json
//! {
//!   "plimsoll": "0.1.0",
//!   "roles": [{
//!     "role": "decode", "model": "acme/tiny", "workers": 1,
//!     "capacity_tokens": 1000, "used_tokens": 250, "evictable_tokens": 500, "available_tokens": 250,
//!     "usage_ratio": 0.25, "unweighted": false, "occupied_ratio": 0.75, "usage_ratio_max": 0.25,
//!     "ranks_expected": 1, "ranks_reporting": 1, "running_requests": 2, "queued_requests": 0
//!   }],
//!   "workers": [{
//!     "worker": "http://10.0.0.7:30000", "role": "decode", "model": "acme/tiny",
//!     "state": "ok", "hint": "", "mismatch": null, "sources": ["metrics"],
//!     "age_seconds": 0.2, "scrape_duration_seconds": 0.004,
//!     "engine": "sglang", "version": "0.5.9", "engine_model": "acme/tiny",
//!     "tensor_ranks": 1, "data_ranks": 1,
//!     …the members of a role from capacity_tokens to queued_requests…
//!     "queues": {"waiting": 0, "decode_prealloc": 0, "decode_transfer": 0},
//!     "host_capacity_tokens": null, "host_used_tokens": null, "prealloc_ratio": null,
//!     "generation_tokens_per_second": 41.5, "cache_hit_ratio": null,
//!     "transfer_bytes_per_second": null, "transfer_seconds": null,
//!     "preemptions_total": null, "transfer_failures_total": null,
//!     "scrapes": {"ok": 17}, "discarded": {"nan": 1},
//!     "pools": [{
//!       "rank": null, "capacity_tokens": 1000, "used_tokens": 250, "evictable_tokens": 500,
//!       "available_tokens": 250, "usage_ratio": 0.25, "swa_ratio": null, "mamba_ratio": null,
//!       "usage_ratio_max": 0.25
//!     }]
//!   }]
//! }
//! ```
//!
//! `null` is not known, which is never 0. A role has one entry for each model; `model` is null until
//! a worker has said what it serves. `unweighted` says that no capacity is known, so that the ratio
//! is the plain mean of the ranks'. A worker has one pool for each data rank that says something.
//! `queues` has the queues of the worker's role that are known, `scrapes` and `discarded` what was
//! counted at least once.

mod build;
mod totals;

use std::{borrow::Cow, collections::BTreeMap};

use serde::{Deserialize, Serialize};

/// A word of a fixed set here, and any text from another version.
type Word = Cow<'static, str>;

/// What stands on the page for a model, or another text of a worker, that is not known.
pub(super) const UNKNOWN: &str = "unknown";

/// All workers and their sums by role and model, at one moment.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Report {
    /// The version of plimsoll that wrote it.
    pub plimsoll: Word,
    /// The sums, sorted by role and model.
    pub roles: Vec<RoleReport>,
    /// The workers, in the order of their configuration.
    pub workers: Vec<WorkerReport>,
}

/// The workers of one role and model together.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RoleReport {
    /// `prefill`, `decode` or `plain`.
    pub role: Word,
    /// The model they serve.
    pub model: Option<String>,
    /// How many there are.
    pub workers: usize,
    /// What they hold.
    #[serde(flatten)]
    pub load: Load,
}

/// What a worker, or several together, hold. Tokens and requests are counts, ratios from 0 to 1.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Load {
    /// What the pools hold, of all ranks that say so.
    pub capacity_tokens: Option<u64>,
    /// What requests hold of it.
    pub used_tokens: Option<u64>,
    /// What is cached and held by no request.
    pub evictable_tokens: Option<u64>,
    /// What is neither used nor cached.
    pub available_tokens: Option<u64>,
    /// Used by capacity, over the ranks that have both; see `unweighted`.
    pub usage_ratio: Option<f64>,
    /// No rank has a capacity, so the ratio is the plain mean of theirs.
    pub unweighted: bool,
    /// What is not available, by capacity.
    pub occupied_ratio: Option<f64>,
    /// How full the fullest pool is.
    pub usage_ratio_max: Option<f64>,
    /// How many data ranks there should be.
    pub ranks_expected: u32,
    /// How many of them are in these numbers.
    pub ranks_reporting: u32,
    /// Requests in a batch.
    pub running_requests: Option<u64>,
    /// Requests in any queue.
    pub queued_requests: Option<u64>,
}

/// One worker.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkerReport {
    /// Its base URL.
    pub worker: String,
    /// `prefill`, `decode` or `plain`.
    pub role: Word,
    /// The model that it serves.
    pub model: Option<String>,
    /// How the last reading went.
    pub state: Word,
    /// What to do about it; empty where all is well.
    pub hint: Word,
    /// Where it is not what the router was told that it is: [`Mismatch`](crate::Mismatch) in words. The
    /// hint begins with it.
    pub mismatch: Option<String>,
    /// Where the values came from.
    pub sources: Vec<Word>,
    /// Time since the values were read.
    pub age_seconds: Option<f64>,
    /// How long the last reading took.
    pub scrape_duration_seconds: Option<f64>,
    /// The software it runs.
    pub engine: Option<Word>,
    /// The version of that.
    pub version: Option<String>,
    /// The model as the engine's own metrics name it.
    pub engine_model: Option<String>,
    /// Tensor ranks.
    pub tensor_ranks: Option<u32>,
    /// Data ranks.
    pub data_ranks: Option<u32>,
    /// What it holds.
    #[serde(flatten)]
    pub load: Load,
    /// Requests in each queue.
    pub queues: BTreeMap<Word, u64>,
    /// Tokens that the host tier holds.
    pub host_capacity_tokens: Option<u64>,
    /// Those in use there.
    pub host_used_tokens: Option<u64>,
    /// Decode: share of the pool held for requests that do not run yet.
    pub prealloc_ratio: Option<f64>,
    /// Tokens written in a second.
    pub generation_tokens_per_second: Option<f64>,
    /// Share of the prompt tokens found in the cache, over the last minute.
    pub cache_hit_ratio: Option<f64>,
    /// Mean speed of a KV transfer, over the last minute.
    pub transfer_bytes_per_second: Option<f64>,
    /// Mean time of a KV transfer, over the last minute.
    pub transfer_seconds: Option<f64>,
    /// Requests put back for lack of room, as the engine counts them.
    pub preemptions_total: Option<u64>,
    /// KV transfers that failed, as the engine counts them.
    pub transfer_failures_total: Option<u64>,
    /// Readings by the state they ended in.
    pub scrapes: BTreeMap<Word, u64>,
    /// Samples left out, by reason.
    pub discarded: BTreeMap<Word, u64>,
    /// The pools of its data ranks.
    pub pools: Vec<PoolReport>,
}

/// The pool of one data rank.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct PoolReport {
    /// The rank's name, where there are several that the engine tells apart.
    pub rank: Option<String>,
    /// What it holds.
    pub capacity_tokens: Option<u64>,
    /// What requests hold of it.
    pub used_tokens: Option<u64>,
    /// What is cached and held by no request.
    pub evictable_tokens: Option<u64>,
    /// What is neither used nor cached.
    pub available_tokens: Option<u64>,
    /// How full it is.
    pub usage_ratio: Option<f64>,
    /// How full the sliding-window pool is.
    pub swa_ratio: Option<f64>,
    /// How full the pool of states is.
    pub mamba_ratio: Option<f64>,
    /// How full the fullest of the three is.
    pub usage_ratio_max: Option<f64>,
}

// === impl WorkerReport ===

impl WorkerReport {
    /// Its numbers are in the sums.
    pub fn has_reading(&self) -> bool {
        !self.pools.is_empty()
    }

    /// Its only pool is that of several ranks: SGLang up to 0.4.3 adds them up.
    pub(crate) fn merges_its_ranks(&self) -> bool {
        matches!(self.pools[..], [PoolReport { rank: None, .. }]) && self.load.ranks_expected > 1
    }
}
