//! What a rank has computed, and how fast.

use std::time::Duration;

use tokio::time::Instant;

/// Span over which the generation rate is taken. SGLang takes it over 40 decode steps.
const WINDOW: Duration = Duration::from_secs(1);

/// Work counters of a rank.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Activity {
    /// Whether a batch has run: until then SGLang exports no changing gauge.
    pub(crate) started: bool,
    /// Prompt tokens computed.
    pub(crate) computed: u64,
    /// Prompt tokens taken from the cache.
    pub(crate) cached: u64,
    /// Prompt tokens fetched from a prefill engine (vLLM).
    pub(crate) fetched: u64,
    /// Tokens generated.
    pub(crate) generated: u64,
    /// Cached part of the last prompt, 0 to 1.
    pub(crate) hit_rate: f64,
    window_start: Instant,
    window_tokens: u64,
    last_rate: f64,
}

// === impl Activity ===

impl Activity {
    pub(super) fn new() -> Self {
        Self {
            started: false,
            computed: 0,
            cached: 0,
            fetched: 0,
            generated: 0,
            hit_rate: 0.0,
            window_start: Instant::now(),
            window_tokens: 0,
            last_rate: 0.0,
        }
    }

    /// Notes a prompt that has been computed, `cached` tokens of it from the cache.
    pub(super) fn prefilled(&mut self, prompt: u64, cached: u64) {
        self.started = true;
        self.computed += prompt - cached;
        self.cached += cached;
        self.hit_rate = if prompt == 0 { 0.0 } else { cached as f64 / prompt as f64 };
    }

    /// Notes a prompt that was fetched but for `cached` tokens.
    pub(super) fn fetched(&mut self, prompt: u64, cached: u64) {
        self.started = true;
        self.fetched += prompt - cached;
        self.cached += cached;
    }

    /// Notes a generated token.
    pub(super) fn generated(&mut self) {
        self.started = true;
        self.generated += 1;
        self.roll();
        self.window_tokens += 1;
    }

    /// Tokens generated per second over the last whole window; 0 when idle.
    pub(crate) fn throughput(&self) -> f64 {
        let mut now = *self;
        now.roll();
        now.last_rate
    }

    fn roll(&mut self) {
        let elapsed = self.window_start.elapsed();
        if elapsed >= WINDOW {
            let rate = self.window_tokens as f64 / elapsed.as_secs_f64();
            self.last_rate = if elapsed < 2 * WINDOW { rate } else { 0.0 };
            self.window_start = Instant::now();
            self.window_tokens = 0;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn throughput_falls_to_zero_when_idle() {
        let mut activity = Activity::new();
        for _ in 0..50 {
            activity.generated();
            tokio::time::advance(Duration::from_millis(20)).await;
        }
        assert!((activity.throughput() - 50.0).abs() < 1.0);
        tokio::time::advance(Duration::from_secs(5)).await;
        assert_eq!(activity.throughput(), 0.0);
    }
}
