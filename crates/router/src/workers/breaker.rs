//! Leaves a worker alone that fails again and again.

use std::{
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

/// When a worker is left alone, and for how long.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BreakerConfig {
    /// Failures in a row that open it (5).
    pub failure_threshold: u32,
    /// Successes in a row that close it again (1).
    pub success_threshold: u32,
    /// Time until an open one lets a trial through (10 s).
    pub timeout: Duration,
    /// Failures further apart than this are not in a row (60 s).
    pub window: Duration,
    /// No breaker: a worker is never left alone.
    pub disabled: bool,
}

/// Where a breaker stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BreakerState {
    /// Requests pass.
    Closed,
    /// None passes.
    Open,
    /// One passes at a time, to see how it goes.
    HalfOpen,
}

/// The breaker of one worker. Failures are those of its transport and its 5xx answers; what a client
/// did wrong is neither failure nor success.
#[derive(Debug)]
pub(crate) struct Breaker {
    config: BreakerConfig,
    /// Closed, and no failure counted: nearly always so, and known without a lock.
    calm: AtomicBool,
    phase: Mutex<Phase>,
}

#[derive(Clone, Copy, Debug)]
enum Phase {
    Closed { failures: u32, since: Instant },
    Open { until: Instant, successes: u32 },
    HalfOpen { successes: u32, on_trial: bool },
}

// === impl Breaker ===

impl Breaker {
    pub(crate) fn new(config: BreakerConfig) -> Self {
        let phase = Phase::Closed { failures: 0, since: Instant::now() };
        Self { config, calm: AtomicBool::new(true), phase: Mutex::new(phase) }
    }

    pub(crate) fn state(&self) -> BreakerState {
        if self.is_calm() {
            return BreakerState::Closed;
        }
        match *self.lock() {
            Phase::Closed { .. } => BreakerState::Closed,
            Phase::Open { until, .. } if Instant::now() < until => BreakerState::Open,
            Phase::Open { .. } | Phase::HalfOpen { .. } => BreakerState::HalfOpen,
        }
    }

    /// Failures in a row, while it is closed.
    pub(crate) fn failures(&self) -> u32 {
        match *self.lock() {
            Phase::Closed { failures, .. } => failures,
            Phase::Open { .. } | Phase::HalfOpen { .. } => self.config.failure_threshold,
        }
    }

    /// Successes in a row towards closing it; 0 while it is closed.
    pub(crate) fn successes(&self) -> u32 {
        match *self.lock() {
            Phase::Closed { .. } => 0,
            Phase::Open { successes, .. } | Phase::HalfOpen { successes, .. } => successes,
        }
    }

    /// Whether a request may pass now.
    pub(crate) fn admits(&self) -> bool {
        self.is_calm()
            || match *self.lock() {
                Phase::Closed { .. } => true,
                Phase::Open { until, .. } => Instant::now() >= until,
                Phase::HalfOpen { on_trial, .. } => !on_trial,
            }
    }

    /// A request passes; says whether it is the trial of a half-open breaker. `None` if it may not:
    /// another is on trial, or the breaker has opened since it was asked.
    pub(crate) fn begin(&self) -> Option<bool> {
        if self.is_calm() {
            return Some(false);
        }
        let mut phase = self.lock();
        let successes = match *phase {
            Phase::Closed { .. } => return Some(false),
            Phase::Open { until, .. } if Instant::now() >= until => 0,
            Phase::HalfOpen { successes, on_trial: false } => successes,
            Phase::Open { .. } | Phase::HalfOpen { .. } => return None,
        };
        *phase = Phase::HalfOpen { successes, on_trial: true };
        Some(true)
    }

    /// A request failed; says whether this opened the breaker.
    pub(crate) fn fail(&self, is_trial: bool) -> bool {
        if self.config.disabled {
            return false;
        }
        let now = Instant::now();
        let mut phase = self.lock();
        let failures = match *phase {
            Phase::Closed { failures, since } if failures > 0 => {
                if now - since <= self.config.window { failures + 1 } else { 1 }
            }
            Phase::Closed { .. } => 1,
            Phase::HalfOpen { .. } if is_trial => self.config.failure_threshold,
            // It was sent before the breaker opened: nothing new.
            Phase::Open { .. } | Phase::HalfOpen { .. } => return false,
        };
        let opens = failures >= self.config.failure_threshold;
        *phase = match *phase {
            _ if opens => Phase::Open { until: now + self.config.timeout, successes: 0 },
            Phase::Closed { since, .. } if failures > 1 => Phase::Closed { failures, since },
            _ => Phase::Closed { failures, since: now },
        };
        self.calm.store(false, Ordering::Release);
        opens
    }

    /// A request succeeded; says whether this closed the breaker.
    pub(crate) fn succeed(&self, is_trial: bool) -> bool {
        if self.is_calm() {
            return false;
        }
        let mut phase = self.lock();
        match *phase {
            Phase::Closed { .. } => {
                self.close(&mut phase);
                false
            }
            Phase::HalfOpen { successes, .. } if is_trial => {
                let successes = successes + 1;
                *phase = Phase::HalfOpen { successes, on_trial: false };
                self.close_after(successes, &mut phase)
            }
            Phase::Open { .. } | Phase::HalfOpen { .. } => false,
        }
    }

    /// A probe succeeded; says whether this closed the breaker. What requests have found out while it
    /// is closed stays.
    pub(crate) fn probe_succeeded(&self) -> bool {
        if self.is_calm() {
            return false;
        }
        let mut phase = self.lock();
        let successes = match &mut *phase {
            Phase::Closed { .. } => return false,
            Phase::Open { successes, .. } | Phase::HalfOpen { successes, .. } => {
                *successes += 1;
                *successes
            }
        };
        self.close_after(successes, &mut phase)
    }

    /// The trial was given up: another may follow.
    pub(crate) fn abandon_trial(&self) {
        if let Phase::HalfOpen { on_trial, .. } = &mut *self.lock() {
            *on_trial = false;
        }
    }

    fn close_after(&self, successes: u32, phase: &mut Phase) -> bool {
        let closes = successes >= self.config.success_threshold;
        if closes {
            self.close(phase);
        }
        closes
    }

    fn close(&self, phase: &mut Phase) {
        *phase = Phase::Closed { failures: 0, since: Instant::now() };
        self.calm.store(true, Ordering::Release);
    }

    fn is_calm(&self) -> bool {
        self.calm.load(Ordering::Acquire)
    }

    fn lock(&self) -> MutexGuard<'_, Phase> {
        self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

// === impl BreakerConfig ===

impl Default for BreakerConfig {
    fn default() -> Self {
        Self {
            failure_threshold: 5,
            success_threshold: 1,
            timeout: Duration::from_secs(10),
            window: Duration::from_secs(60),
            disabled: false,
        }
    }
}

// === impl BreakerState ===

impl BreakerState {
    /// The number that metrics have for it.
    pub const fn number(self) -> u8 {
        match self {
            Self::Closed => 0,
            Self::Open => 1,
            Self::HalfOpen => 2,
        }
    }

    /// The word for it.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Closed => "closed",
            Self::Open => "open",
            Self::HalfOpen => "half-open",
        }
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    fn breaker() -> Breaker {
        Breaker::new(BreakerConfig { failure_threshold: 3, ..BreakerConfig::default() })
    }

    fn opened() -> Breaker {
        let breaker = breaker();
        assert_eq!([false; 3].map(|trial| breaker.fail(trial)), [false, false, true]);
        breaker
    }

    #[tokio::test(start_paused = true)]
    async fn failures_in_a_row_open_it() {
        let breaker = breaker();
        for _ in 0..4 {
            assert!(!breaker.fail(false) && !breaker.fail(false));
            assert!(!breaker.succeed(false), "a success between them starts anew");
        }
        assert!(!breaker.fail(false) && !breaker.fail(false));
        advance(Duration::from_secs(61)).await;
        assert!(!breaker.fail(false), "so does a long time");
        assert!(breaker.admits());
        assert!(!breaker.fail(false) && breaker.fail(false));
        assert_eq!((breaker.state(), breaker.admits()), (BreakerState::Open, false));
    }

    #[tokio::test(start_paused = true)]
    async fn one_trial_at_a_time_decides() {
        let breaker = opened();
        advance(Duration::from_secs(10)).await;
        assert_eq!((breaker.state(), breaker.admits()), (BreakerState::HalfOpen, true));
        assert_eq!(breaker.begin(), Some(true));
        assert_eq!((breaker.admits(), breaker.begin()), (false, None));
        breaker.abandon_trial();
        assert_eq!((breaker.admits(), breaker.begin()), (true, Some(true)));
        assert!(breaker.fail(true), "a failed trial opens it again");
        assert_eq!((breaker.admits(), breaker.begin()), (false, None));
        advance(Duration::from_secs(10)).await;
        assert_eq!((breaker.begin(), breaker.succeed(true)), (Some(true), true));
        assert_eq!((breaker.state(), breaker.begin()), (BreakerState::Closed, Some(false)));
    }

    #[tokio::test(start_paused = true)]
    async fn what_was_sent_before_it_opened_says_nothing_new() {
        let breaker = opened();
        assert!(!breaker.fail(false) && !breaker.succeed(false));
        advance(Duration::from_secs(10)).await;
        assert_eq!(breaker.begin(), Some(true));
        assert!(!breaker.fail(false) && !breaker.succeed(false));
        assert_eq!(breaker.state(), BreakerState::HalfOpen);
    }

    #[tokio::test(start_paused = true)]
    async fn probes_close_it() {
        let breaker = opened();
        assert!(breaker.probe_succeeded());
        assert!(breaker.admits());
        assert!(!breaker.fail(false) && !breaker.fail(false) && !breaker.probe_succeeded());
        assert!(breaker.fail(false), "failures count on where only probes succeed");
        let slow = BreakerConfig { success_threshold: 2, failure_threshold: 1, ..<_>::default() };
        let slow = Breaker::new(slow);
        assert!(slow.fail(false) && !slow.probe_succeeded() && slow.probe_succeeded());
    }

    #[tokio::test(start_paused = true)]
    async fn disabled_it_never_opens() {
        let breaker = Breaker::new(BreakerConfig { disabled: true, ..<_>::default() });
        assert!((0..100).all(|_| !breaker.fail(false)));
        assert!(breaker.admits());
    }
}
