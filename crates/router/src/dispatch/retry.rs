use std::{sync::Arc, time::Duration};

use super::Failure;
use crate::{RetryConfig, RetryReason, client::Reuse};

/// What was tried for one request, and what may still be.
#[derive(Debug)]
pub(super) struct Tries {
    config: RetryConfig,
    retries: u32,
    /// The workers that failed it.
    failed: Vec<Arc<str>>,
    reuse: Reuse,
}

// === impl Tries ===

impl Tries {
    pub(super) fn new(config: RetryConfig) -> Self {
        Self { config, retries: 0, failed: Vec::new(), reuse: Reuse::Allowed }
    }

    /// The workers that failed the request.
    pub(super) fn failed(&self) -> &[Arc<str>] {
        &self.failed
    }

    /// What connections the next attempt may take.
    pub(super) fn reuse(&self) -> Reuse {
        self.reuse
    }

    /// Another attempt has failed: how long to wait before the next; `None` if there is none.
    ///
    /// A connection that grew old is no failure of its worker, which is asked once more at once.
    pub(super) fn after(&mut self, failure: &Failure) -> Option<Duration> {
        if failure.reason == RetryReason::StaleConnection && self.reuse == Reuse::Allowed {
            self.reuse = Reuse::Refused;
            return Some(Duration::ZERO);
        }
        if self.retries >= self.config.max_retries {
            return None;
        }
        self.failed.push(failure.worker.clone());
        self.retries += 1;
        Some(self.backoff())
    }

    fn backoff(&self) -> Duration {
        let RetryConfig { initial_backoff, max_backoff, multiplier, jitter, .. } = self.config;
        let exponent = i32::try_from(self.retries - 1).unwrap_or(i32::MAX);
        let most = max_backoff.as_secs_f64();
        let wait = (initial_backoff.as_secs_f64() * multiplier.powi(exponent)).min(most);
        let chance = 1.0 + jitter * (2.0 * fastrand::f64() - 1.0);
        Duration::from_secs_f64((wait * chance).clamp(0.0, most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answer;

    fn failure(worker: &str, reason: RetryReason) -> Failure {
        let answer = answer::empty(http::StatusCode::BAD_GATEWAY);
        Failure { worker: worker.into(), reason, answer, handed_over: None }
    }

    #[test]
    fn waits_grow_up_to_their_limit() {
        let config = RetryConfig {
            max_retries: 8,
            max_backoff: Duration::from_millis(200),
            jitter: 0.0,
            ..RetryConfig::default()
        };
        let mut tries = Tries::new(config);
        let waits: Vec<_> = std::iter::from_fn(|| tries.after(&failure("a", RetryReason::Reset)))
            .map(|wait| wait.as_micros())
            .collect();
        let want = [50_000, 75_000, 112_500, 168_750, 200_000, 200_000, 200_000, 200_000];
        assert_eq!(waits, want);
    }

    #[test]
    fn chance_stays_within_its_share() {
        for _ in 0..1000 {
            let wait = Tries::new(RetryConfig::default())
                .after(&failure("a", RetryReason::Timeout))
                .unwrap()
                .as_secs_f64();
            assert!((0.04..=0.06).contains(&wait), "{wait}");
        }
    }

    #[test]
    fn an_old_connection_costs_no_retry_but_only_once() {
        let mut tries = Tries::new(RetryConfig { max_retries: 0, ..RetryConfig::default() });
        let stale = failure("a", RetryReason::StaleConnection);
        assert_eq!(tries.after(&stale), Some(Duration::ZERO));
        assert_eq!((tries.reuse(), tries.failed().len()), (Reuse::Refused, 0));
        assert_eq!(tries.after(&stale), None);
    }
}
