//! STUB
#![allow(missing_docs, dead_code)]
use std::{
    fmt::Debug,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

#[derive(Debug)]
pub(crate) struct Candidate<'a> {
    pub(crate) url: &'a Arc<str>,
    pub(crate) in_flight: usize,
    pub(crate) load: Option<Load>,
    pub(crate) pending_tokens: u64,
}

/// How full a KV cache is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Tokens that it can hold, if known.
    pub capacity_tokens: Option<u64>,
    /// Share that running requests hold, 0 to 1.
    pub usage_ratio: f64,
    /// When the engine was read.
    pub read_at: tokio::time::Instant,
}

#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hint<'a> {
    pub(crate) prompt: &'a [u8],
    pub(crate) session: Option<&'a [u8]>,
}

pub(crate) trait Policy: Debug + Send + Sync {
    fn pick(&self, candidates: &[Candidate<'_>], hint: &Hint<'_>) -> Option<usize>;
    fn needs_load(&self) -> bool {
        false
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyKind {
    Random,
    RoundRobin,
    PowerOfTwo,
    CacheAware,
    ConsistentHashing,
    LeastKv,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AffinityConfig {
    pub cache_threshold: f64,
    pub balance_abs_threshold: usize,
    pub balance_rel_threshold: f64,
    pub max_tree_size: usize,
    pub eviction_interval: Duration,
}

impl Default for AffinityConfig {
    fn default() -> Self {
        Self {
            cache_threshold: 0.3,
            balance_abs_threshold: 64,
            balance_rel_threshold: 1.5,
            max_tree_size: 67_108_864,
            eviction_interval: Duration::from_secs(60),
        }
    }
}

#[derive(Debug, Default)]
struct RoundRobin(AtomicUsize);

impl Policy for RoundRobin {
    fn pick(&self, candidates: &[Candidate<'_>], _: &Hint<'_>) -> Option<usize> {
        self.0.fetch_add(1, Ordering::Relaxed).checked_rem(candidates.len())
    }
}

pub(crate) fn build(_: PolicyKind, _: &'static str, _: &AffinityConfig) -> Box<dyn Policy> {
    Box::<RoundRobin>::default()
}

impl PolicyKind {
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Random => "random",
            Self::RoundRobin => "round_robin",
            Self::PowerOfTwo => "power_of_two",
            Self::CacheAware => "cache_aware",
            Self::ConsistentHashing => "consistent_hashing",
            Self::LeastKv => "least_kv",
        }
    }
}
