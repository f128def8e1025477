//! Misbehaviour on demand.

use std::{
    sync::{
        Mutex,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;

use crate::sync::lock;

/// One way to misbehave. Where events are counted, a JSON answer is one event.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum FaultAction {
    /// Answers with this status, headers and body instead of working.
    Status {
        /// HTTP status.
        code: u16,
        /// Extra headers; with a `content-type` of application/json unless one is given.
        headers: Vec<(String, String)>,
        /// The body.
        body: Bytes,
    },
    /// Waits before it begins to work.
    DelayHead(Duration),
    /// Never answers.
    HangHead,
    /// Closes the connection (RST) without a byte.
    ResetBeforeHead,
    /// Answers 200 with bytes that are neither JSON nor events.
    GarbageBody,
    /// Closes the connection after so many events, as an engine killed amid its answer does: no
    /// last chunk.
    CutAfterEvents(usize),
    /// Ends the stream properly after so many events, without `[DONE]`.
    TruncateAfterEvents(usize),
    /// Sends nothing more after so many events.
    StallAfterEvents(usize),
    /// Sends an error event and `[DONE]` after so many events, then ends the stream. Streams only.
    ErrorEventAfter(usize),
    /// Waits before each event.
    DelayPerEvent(Duration),
}

/// An action and the requests it strikes.
#[derive(Debug, Clone)]
pub struct Fault {
    action: FaultAction,
    path: Option<String>,
    skip: u64,
    left: Option<u64>,
}

// === impl Fault ===

impl Fault {
    /// Strikes every inference request.
    #[must_use]
    pub fn always(action: FaultAction) -> Self {
        Self { action, path: None, skip: 0, left: None }
    }

    /// Strikes the next inference request only.
    #[must_use]
    pub fn once(action: FaultAction) -> Self {
        Self::always(action).times(1)
    }

    /// Strikes requests, of any kind, whose path begins so.
    #[must_use]
    pub fn on(self, path: impl Into<String>) -> Self {
        Self { path: Some(path.into()), ..self }
    }

    /// Lets the first `count` matching requests pass.
    #[must_use]
    pub fn skip(self, count: u64) -> Self {
        Self { skip: count, ..self }
    }

    /// Strikes at most `count` requests.
    #[must_use]
    pub fn times(self, count: u64) -> Self {
        Self { left: Some(count), ..self }
    }

    /// The action, if the request is struck; counts the request.
    fn strike(&mut self, path: &str, inference: bool) -> Option<FaultAction> {
        let matches = self.path.as_ref().map_or(inference, |prefix| path.starts_with(prefix));
        if !matches || self.left == Some(0) {
            return None;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return None;
        }
        self.left = self.left.map(|left| left - 1);
        Some(self.action.clone())
    }
}

/// The faults of an engine; can be changed while it runs.
#[derive(Debug, Default)]
pub struct Faults {
    rules: Mutex<Vec<Fault>>,
    unhealthy: AtomicBool,
}

// === impl Faults ===

impl Faults {
    /// Adds a fault after those there are. The first that strikes a request decides.
    pub fn push(&self, fault: Fault) {
        lock(&self.rules).push(fault);
    }

    /// Removes all faults and makes the engine healthy.
    pub fn clear(&self) {
        lock(&self.rules).clear();
        self.set_unhealthy(false);
    }

    /// Whether `/health` and `/health_generate` answer 503. Inference goes on.
    pub fn set_unhealthy(&self, unhealthy: bool) {
        self.unhealthy.store(unhealthy, Ordering::Relaxed);
    }

    pub(crate) fn is_unhealthy(&self) -> bool {
        self.unhealthy.load(Ordering::Relaxed)
    }

    /// What strikes a request, if anything.
    pub(crate) fn take(&self, path: &str, inference: bool) -> Option<FaultAction> {
        lock(&self.rules).iter_mut().find_map(|rule| rule.strike(path, inference))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_and_paths_choose_the_request() {
        let faults = Faults::default();
        faults.push(Fault::once(FaultAction::HangHead).skip(1));
        faults.push(Fault::always(FaultAction::GarbageBody).on("/metrics"));
        assert_eq!(faults.take("/generate", true), None);
        assert_eq!(faults.take("/generate", true), Some(FaultAction::HangHead));
        assert_eq!(faults.take("/generate", true), None);
        assert_eq!(faults.take("/health", false), None);
        assert_eq!(faults.take("/metrics", false), Some(FaultAction::GarbageBody));
        faults.clear();
        assert_eq!(faults.take("/metrics", false), None);
    }
}
