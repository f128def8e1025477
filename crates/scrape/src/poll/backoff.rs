use std::time::Duration;

use tokio::time::Instant;

/// The first pause.
const FIRST: Duration = Duration::from_secs(2);

/// The longest pause: what is switched on later is seen within a minute.
const LONGEST: Duration = Duration::from_secs(60);

/// When something that failed is tried again: after a pause that grows.
#[derive(Debug, Default)]
pub(super) struct Backoff {
    pause: Option<Duration>,
    until: Option<Instant>,
}

// === impl Backoff ===

impl Backoff {
    pub(super) fn is_over(&self) -> bool {
        self.until.is_none_or(|until| Instant::now() >= until)
    }

    pub(super) fn failed(&mut self) {
        let pause = self.pause.map_or(FIRST, |pause| (pause * 2).min(LONGEST));
        (self.pause, self.until) = (Some(pause), Some(Instant::now() + pause));
    }

    /// It went well, and is not to be tried again before the longest pause is over.
    pub(super) fn rest(&mut self) {
        (self.pause, self.until) = (None, Some(Instant::now() + LONGEST));
    }

    pub(super) fn reset(&mut self) {
        *self = Self::default();
    }
}
