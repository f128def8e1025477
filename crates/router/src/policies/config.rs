use std::time::Duration;

/// Which policy chooses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PolicyKind {
    /// Any, by chance.
    Random,
    /// Each in turn.
    RoundRobin,
    /// Of two by chance, the one with fewer requests in flight.
    PowerOfTwo,
    /// The one that has seen most of the prompt, unless load is too uneven.
    CacheAware,
    /// The same one for the same session.
    ConsistentHashing,
    /// The one with the most free KV cache.
    LeastKv,
}

/// How [`PolicyKind::CacheAware`] weighs what a worker has seen against load, and how much of it is
/// remembered.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AffinityConfig {
    /// The share of a prompt, 0 to 1, of which a worker must have seen more to be chosen for it.
    pub cache_threshold: f64,
    /// Load is uneven if the most loaded worker has more requests in flight than the least loaded
    /// by more than this,
    pub balance_abs_threshold: usize,
    /// and more than this times as many.
    pub balance_rel_threshold: f64,
    /// Bytes of prompts that are remembered at most.
    pub max_tree_size: usize,
    /// How often room is made ahead of need.
    pub eviction_interval: Duration,
}

// === impl PolicyKind ===

impl PolicyKind {
    /// Its name on the command line and in metrics.
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

// === impl AffinityConfig ===

impl Default for AffinityConfig {
    fn default() -> Self {
        Self {
            cache_threshold: 0.3,
            balance_abs_threshold: 64,
            balance_rel_threshold: 1.5,
            max_tree_size: 64 << 20,
            eviction_interval: Duration::from_secs(60),
        }
    }
}
