//! How a worker is chosen. Each policy has one state for the whole process, whatever the number of
//! threads that ask it.

mod cache_aware;
mod config;
mod consistent_hashing;
mod least_kv;
mod power_of_two;
mod random;
mod round_robin;
#[cfg(test)]
mod simulation;
#[cfg(test)]
mod testing;
mod ties;

use std::{fmt::Debug, sync::Arc};

use tokio::time::Instant;

pub use self::config::{AffinityConfig, PolicyKind};
use self::{
    cache_aware::CacheAware, consistent_hashing::ConsistentHashing, least_kv::LeastKv,
    power_of_two::PowerOfTwo, random::Random, round_robin::RoundRobin,
};

/// What a policy may know of one worker.
#[derive(Debug)]
pub(crate) struct Candidate<'a> {
    /// Base URL: the same for the worker's whole life, and its identity here.
    pub(crate) url: &'a Arc<str>,
    /// Legs under way.
    pub(crate) in_flight: usize,
    /// How full its KV cache is; `None` if not known or stale. Filled only for policies that
    /// [`need it`](Policy::needs_load).
    pub(crate) load: Option<Load>,
    /// Tokens, estimated, that were sent to it since it was read.
    pub(crate) pending_tokens: u64,
}

/// How full a KV cache is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Load {
    /// Tokens that the cache can hold, if known.
    pub capacity_tokens: Option<u64>,
    /// Share that running requests hold, 0 to 1.
    pub usage_ratio: f64,
    /// When the engine was read.
    pub read_at: Instant,
}

/// What a policy may know of the request.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Hint<'a> {
    /// The prompt's text as the body has it (raw JSON bytes of `messages`, `prompt`, `text` or
    /// `input_ids`), empty if there is none.
    pub(crate) prompt: &'a [u8],
    /// What the client's session is known by, if anything.
    pub(crate) session: Option<&'a [u8]>,
}

/// Chooses among workers of one role.
pub(crate) trait Policy: Debug + Send + Sync {
    /// The index of the chosen one; `None` only if there are none.
    fn pick(&self, candidates: &[Candidate<'_>], hint: &Hint<'_>) -> Option<usize>;

    /// Whether [`Candidate::load`] is looked at.
    fn needs_load(&self) -> bool {
        false
    }
}

/// A policy of its own for one role; `role` is what the log calls it.
pub(crate) fn build(
    kind: PolicyKind,
    role: &'static str,
    affinity: &AffinityConfig,
) -> Box<dyn Policy> {
    match kind {
        PolicyKind::Random => Box::new(Random),
        PolicyKind::RoundRobin => Box::<RoundRobin>::default(),
        PolicyKind::PowerOfTwo => Box::<PowerOfTwo>::default(),
        PolicyKind::CacheAware => Box::new(CacheAware::new(affinity)),
        PolicyKind::ConsistentHashing => Box::<ConsistentHashing>::default(),
        PolicyKind::LeastKv => Box::new(LeastKv::new(role)),
    }
}

#[cfg(test)]
mod tests {
    use super::{AffinityConfig, Hint, PolicyKind, build, testing};

    #[test]
    fn each_kind_chooses_one_if_there_is_any() {
        use PolicyKind::{CacheAware, ConsistentHashing, LeastKv, PowerOfTwo, Random, RoundRobin};
        let urls = testing::urls(3);
        let candidates = testing::candidates(&urls, &[1, 2, 3]);
        let hint = Hint { prompt: b"a prompt", session: Some(b"a session") };
        for kind in [Random, RoundRobin, PowerOfTwo, CacheAware, ConsistentHashing, LeastKv] {
            let policy = build(kind, "plain", &AffinityConfig::default());
            assert!(policy.pick(&candidates, &hint).is_some_and(|index| index < 3), "{kind:?}");
            assert_eq!(policy.pick(&[], &hint), None, "{kind:?}");
            assert_eq!(policy.needs_load(), kind == LeastKv, "{kind:?}");
        }
    }
}
