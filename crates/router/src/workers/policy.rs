use std::{
    fmt::Debug,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use super::Worker;

/// Chooses among workers of one role.
pub(crate) trait Policy: Debug + Send + Sync {
    /// The index of the chosen one; `None` only if there are none.
    fn pick(&self, candidates: &[&Arc<Worker>]) -> Option<usize>;
}

/// Each in turn. The position is one for the process.
#[derive(Debug, Default)]
pub(crate) struct RoundRobin(AtomicUsize);

// === impl RoundRobin ===

impl Policy for RoundRobin {
    fn pick(&self, candidates: &[&Arc<Worker>]) -> Option<usize> {
        self.0.fetch_add(1, Ordering::Relaxed).checked_rem(candidates.len())
    }
}
