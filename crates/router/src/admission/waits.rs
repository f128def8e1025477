use std::{
    sync::atomic::{AtomicU64, Ordering},
    time::Duration,
};

/// Upper bounds of the buckets of waits, in seconds; one more holds what is longer.
pub const WAIT_BOUNDS: [f64; 12] =
    [0.001, 0.005, 0.01, 0.05, 0.1, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0];

/// How long requests have waited, in the line or beside it, those included that gave up.
#[derive(Debug, Default)]
pub struct QueueWaits {
    buckets: [AtomicU64; WAIT_BOUNDS.len() + 1],
    micros: AtomicU64,
}

// === impl QueueWaits ===

impl QueueWaits {
    pub(super) fn note(&self, wait: Duration) {
        let bucket = WAIT_BOUNDS.partition_point(|&bound| bound < wait.as_secs_f64());
        self.buckets[bucket].fetch_add(1, Ordering::Relaxed);
        let micros = u64::try_from(wait.as_micros()).unwrap_or(u64::MAX);
        self.micros.fetch_add(micros, Ordering::Relaxed);
    }

    /// Waits in each bucket, those in lower ones not included.
    pub fn counts(&self) -> [u64; WAIT_BOUNDS.len() + 1] {
        self.buckets.each_ref().map(|count| count.load(Ordering::Relaxed))
    }

    /// Their sum.
    pub fn sum(&self) -> Duration {
        Duration::from_micros(self.micros.load(Ordering::Relaxed))
    }
}
