use std::sync::{Mutex, PoisonError};

use tokio::time::Instant;

/// A bucket of as many tokens as it gets in a second: each request takes one.
#[derive(Debug)]
pub(super) struct Rate {
    per_second: f64,
    level: Mutex<Level>,
}

#[derive(Debug)]
struct Level {
    tokens: f64,
    at: Instant,
}

// === impl Rate ===

impl Rate {
    pub(super) fn new(per_second: u64) -> Self {
        #[expect(clippy::cast_precision_loss, reason = "nobody counts to 2^53 in a second")]
        let per_second = per_second as f64;
        let level = Level { tokens: per_second, at: Instant::now() };
        Self { per_second, level: Mutex::new(level) }
    }

    /// Takes a token, if there is one.
    pub(super) fn take(&self) -> bool {
        self.change(|tokens| if tokens >= 1.0 { (tokens - 1.0, true) } else { (tokens, false) })
    }

    /// Puts one back that was not used.
    pub(super) fn give_back(&self) {
        self.change(|tokens| (tokens + 1.0, ()));
    }

    fn change<T>(&self, change: impl FnOnce(f64) -> (f64, T)) -> T {
        let mut level = self.level.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        let grown = level.tokens + (now - level.at).as_secs_f64() * self.per_second;
        let (tokens, result) = change(grown.min(self.per_second));
        *level = Level { tokens: tokens.min(self.per_second), at: now };
        result
    }
}
