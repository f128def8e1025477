//! All workers as last read.

use std::{fmt, sync::Arc, time::Duration};

use plimsoll_wire::Role;
use tokio::time::Instant;

use crate::{Discarded, Mismatch, Reading, State};

/// All workers as last read, in the order of their configuration.
#[derive(Clone, Debug, Default)]
pub struct Snapshot {
    /// One for each worker.
    pub workers: Vec<Arc<WorkerReading>>,
}

/// One worker as last read.
#[derive(Clone, Debug)]
pub struct WorkerReading {
    /// Its base URL, as configured.
    pub worker: Arc<str>,
    /// What it does, by the configuration.
    pub role: Role,
    /// The model that it serves, as it says at `/v1/models`; `None` until it has said.
    pub model: Option<Arc<str>>,
    /// What it says of itself.
    pub identity: Identity,
    /// Where that is not what was configured.
    pub mismatch: Option<Mismatch>,
    /// How the last reading went.
    pub state: State,
    /// What it holds: there only while it is younger than the limit.
    pub reading: Option<Reading>,
    /// Where the values came from, each source once, in the order of [`Source::ALL`].
    pub sources: Vec<Source>,
    /// When the values were read; older than the limit, they are gone from `reading`, and `trends`
    /// with them.
    pub read_at: Option<Instant>,
    /// How long the last reading took.
    pub scrape_duration: Option<Duration>,
    /// How many readings ended in each state, in the order of [`State::ALL`]; never taken back.
    pub scrapes: [u64; State::ALL.len()],
    /// Samples left out, of all readings; never taken back.
    pub discarded: Discarded,
    /// What counters say about the last minute.
    pub trends: Trends,
}

/// What a worker says of itself.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Identity {
    /// `sglang`, `vllm`, …: by the names on its page, or by what it answers.
    pub engine: Option<&'static str>,
    /// Its version, where it says one.
    pub version: Option<String>,
    /// The model as the engine's own metrics name it.
    pub engine_model: Option<String>,
    /// Tensor ranks.
    pub tensor_ranks: Option<u32>,
    /// Data ranks.
    pub data_ranks: Option<u32>,
}

/// What counters say about the last minute, and the counters that are shown as they are: engines
/// write these as floating-point numbers, too, and so they stay.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Trends {
    /// Share of the prompt tokens that were found in the cache, from 0 to 1.
    pub cache_hit_ratio: Option<f64>,
    /// Mean speed of a KV transfer, in bytes a second.
    pub transfer_bytes_per_second: Option<f64>,
    /// Mean time of a KV transfer, in seconds.
    pub transfer_seconds: Option<f64>,
    /// Requests put back for lack of room, as the engine counts them.
    pub preemptions: Option<f64>,
    /// KV transfers that failed, as the engine counts them.
    pub transfer_failures: Option<f64>,
}

/// Where values come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Source {
    /// The metrics page.
    Metrics,
    /// `/v1/loads`, SGLang 0.5.8 and newer.
    Loads,
    /// `/get_server_info` or `/server_info`.
    ServerInfo,
    /// `/get_load`, SGLang 0.4.7 to 0.5.20.
    GetLoad,
}

// === impl Source ===

impl Source {
    /// Every source, in the order of the contract.
    pub const ALL: [Self; 4] = [Self::Metrics, Self::Loads, Self::ServerInfo, Self::GetLoad];

    /// The label value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Metrics => "metrics",
            Self::Loads => "loads",
            Self::ServerInfo => "server_info",
            Self::GetLoad => "get_load",
        }
    }
}

/// The label value.
impl fmt::Display for Source {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

// === impl WorkerReading ===

impl WorkerReading {
    /// A worker that was not asked yet.
    pub fn pending(worker: Arc<str>, role: Role) -> Self {
        Self {
            worker,
            role,
            model: None,
            identity: Identity::default(),
            mismatch: None,
            state: State::Pending,
            reading: None,
            sources: Vec::new(),
            read_at: None,
            scrape_duration: None,
            scrapes: [0; State::ALL.len()],
            discarded: Discarded::default(),
            trends: Trends::default(),
        }
    }
}
