use std::sync::atomic::{AtomicU64, Ordering};

/// Why a request was tried again.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RetryReason {
    /// No connection.
    ConnectError,
    /// No byte for too long.
    Timeout,
    /// The connection died.
    Reset,
    /// A 5xx answer.
    Status5xx,
    /// A connection that had served before had died meanwhile.
    StaleConnection,
}

/// How often requests were tried again.
#[derive(Debug, Default)]
pub struct Retries {
    by_reason: [AtomicU64; RetryReason::ALL.len()],
}

// === impl RetryReason ===

impl RetryReason {
    /// Every reason, in label order.
    pub const ALL: [Self; 5] =
        [Self::ConnectError, Self::Timeout, Self::Reset, Self::Status5xx, Self::StaleConnection];

    /// The label value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::ConnectError => "connect_error",
            Self::Timeout => "timeout",
            Self::Reset => "reset",
            Self::Status5xx => "status_5xx",
            Self::StaleConnection => "stale_connection",
        }
    }
}

// === impl Retries ===

impl Retries {
    /// Retries for a reason.
    pub fn count(&self, reason: RetryReason) -> u64 {
        self.by_reason[reason as usize].load(Ordering::Relaxed)
    }

    pub(crate) fn note(&self, reason: RetryReason) {
        self.by_reason[reason as usize].fetch_add(1, Ordering::Relaxed);
    }
}
