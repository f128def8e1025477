//! A worker's part in a request: a place first, then a leg under way.

use std::sync::Arc;

use super::Worker;
use crate::RouteError;

/// How a worker's leg of a request ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AttemptResult {
    /// Answered to the end.
    Ok,
    /// No connection.
    ConnectError,
    /// No byte for too long.
    Timeout,
    /// The connection died.
    Reset,
    /// Answered 4xx.
    Status4xx,
    /// Answered 5xx.
    Status5xx,
    /// Given up from this side: the client left, or the other leg failed.
    Cancelled,
}

/// A place at a worker: counts as in flight until it is given back, at the latest by its drop.
#[derive(Debug)]
pub(crate) struct Place {
    worker: Arc<Worker>,
    purpose: Purpose,
    is_given_back: bool,
}

/// What a place is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Purpose {
    /// A leg of a request.
    Work,
    /// A leg that decides: the worker's breaker is half-open.
    Trial,
    /// A question about the worker, which tells nobody how it works.
    Question,
}

/// One leg under way, which counts as the result that it was given, else as cancelled.
#[derive(Debug)]
pub(crate) struct Attempt {
    place: Place,
    /// The worker of the leg beside it, which waits for this one, and this one for it.
    peer: Option<Arc<Worker>>,
    result: AttemptResult,
    /// Counted as a success of its worker.
    proven: bool,
    /// Whether the answer is good is not told by its head.
    is_withheld: bool,
}

// === impl AttemptResult ===

impl AttemptResult {
    /// Every result, in label order.
    pub const ALL: [Self; 7] = [
        Self::Ok,
        Self::ConnectError,
        Self::Timeout,
        Self::Reset,
        Self::Status4xx,
        Self::Status5xx,
        Self::Cancelled,
    ];

    /// The label value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::ConnectError => "connect_error",
            Self::Timeout => "timeout",
            Self::Reset => "reset",
            Self::Status4xx => "status_4xx",
            Self::Status5xx => "status_5xx",
            Self::Cancelled => "cancelled",
        }
    }

    /// The worker is to blame.
    pub const fn is_failure(self) -> bool {
        matches!(self, Self::ConnectError | Self::Timeout | Self::Reset | Self::Status5xx)
    }
}

// === impl Place ===

impl Place {
    /// A place at a worker, if it has one free and its breaker lets a request pass.
    pub(crate) fn take(worker: &Arc<Worker>) -> Option<Self> {
        if !worker.enter() {
            return None;
        }
        let mut place = Self::new(worker, Purpose::Work);
        if worker.breaker().begin()? {
            place.purpose = Purpose::Trial;
        }
        Some(place)
    }

    /// A place beside those that are limited: for a question about the worker.
    pub(crate) fn take_beside(worker: &Arc<Worker>) -> Self {
        worker.enter_beside();
        Self::new(worker, Purpose::Question)
    }

    fn new(worker: &Arc<Worker>, purpose: Purpose) -> Self {
        Self { worker: worker.clone(), purpose, is_given_back: false }
    }

    pub(crate) fn worker(&self) -> &Arc<Worker> {
        &self.worker
    }

    fn note_failure(&mut self) {
        if let Some(is_trial) = self.end_trial() {
            self.worker.note_failure(is_trial);
        }
    }

    fn note_success(&mut self) {
        if let Some(is_trial) = self.end_trial() {
            self.worker.note_success(is_trial);
        }
    }

    /// Whether it was for the trial, which is decided now; `None` where nothing is tried.
    fn end_trial(&mut self) -> Option<bool> {
        match self.purpose {
            Purpose::Question => None,
            Purpose::Work => Some(false),
            Purpose::Trial => {
                self.purpose = Purpose::Work;
                Some(true)
            }
        }
    }

    fn give_back(&mut self) {
        if !std::mem::replace(&mut self.is_given_back, true) {
            self.worker.leave();
        }
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        if self.purpose == Purpose::Trial {
            self.worker.breaker().abandon_trial();
        }
        self.give_back();
    }
}

// === impl Attempt ===

impl Attempt {
    pub(crate) fn new(place: Place, peer: Option<Arc<Worker>>) -> Self {
        let result = AttemptResult::Cancelled;
        Self { place, peer, result, proven: false, is_withheld: false }
    }

    pub(crate) fn worker(&self) -> &Arc<Worker> {
        &self.place.worker
    }

    /// Who is to blame for this leg's silence, or for its error: the other one of a pair, if that
    /// one's probes fail and this one's do not.
    pub(crate) fn culprit(&self) -> &Arc<Worker> {
        let own = self.worker();
        self.peer.as_ref().filter(|peer| peer.is_suspect() && !own.is_suspect()).unwrap_or(own)
    }

    /// The leg ended so. The first failure stands; it is the worker's own, unless there is a
    /// [`culprit`](Self::culprit). Where that one's silence is to blame for this one's, this leg was
    /// given up.
    pub(crate) fn settle(&mut self, result: AttemptResult) {
        if !matches!(self.result, AttemptResult::Cancelled | AttemptResult::Ok) {
            return;
        }
        let is_shared = matches!(result, AttemptResult::Timeout | AttemptResult::Status5xx);
        let is_own = !is_shared || Arc::ptr_eq(self.culprit(), self.worker());
        self.result = match result {
            AttemptResult::Timeout if !is_own => AttemptResult::Cancelled,
            result => result,
        };
        if result.is_failure() && is_own {
            self.place.note_failure();
        }
        // Its work is over, though its answer may be kept while another worker is waited for.
        if result == AttemptResult::Status5xx {
            self.place.give_back();
        }
    }

    /// The other leg failed so: if this worker's silence is to blame, this leg timed out. If this one
    /// `was_silent` too, and probes do not tell which of the two hangs, both did: the breaker of the
    /// one that does not hang is closed by what it answers with others.
    pub(crate) fn blame(&mut self, error: &RouteError, was_silent: bool) {
        let Some(silent) = error.silent_worker() else { return };
        let own = self.worker();
        let is_told = self.peer.as_ref().is_some_and(|peer| peer.is_suspect() != own.is_suspect());
        if silent == own.url() || (was_silent && !is_told) {
            self.settle(AttemptResult::Timeout);
        }
    }

    /// The leg ended so, but that is nobody's fault.
    pub(crate) fn excuse(&mut self, result: AttemptResult) {
        self.result = result;
    }

    /// Who reads the answer says by [`accept`](Self::accept) whether it is good.
    pub(crate) fn withhold(&mut self) {
        self.is_withheld = true;
    }

    /// The answer, which is whole, is good.
    pub(crate) fn accept(&mut self) {
        self.is_withheld = false;
        self.prove();
    }

    /// A byte of a good answer has come: enough for a trial, which must not last as long as a stream.
    pub(crate) fn note_byte(&mut self) {
        if self.place.purpose == Purpose::Trial {
            self.prove();
        }
    }

    /// A good answer is whole.
    pub(crate) fn prove(&mut self) {
        if !self.is_withheld && !std::mem::replace(&mut self.proven, true) {
            self.place.note_success();
        }
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        if self.place.purpose != Purpose::Question {
            self.worker().count(self.result);
        }
    }
}
