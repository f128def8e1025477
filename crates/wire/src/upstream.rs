//! What a router tells the meter about the way a request went.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use crate::Usage;

/// The way of one request. The router puts it into the response's extensions; the meter reads it
/// when the body ends. There is no other channel between the two.
#[derive(Clone, Debug, Default)]
pub struct Upstream {
    /// The worker that read the prompt, for a prefill/decode pair.
    pub prefill: Option<Arc<str>>,
    /// The worker that wrote the answer: decode, or a plain worker.
    pub decode: Option<Arc<str>>,
    /// How often a worker, or a pair of them, was asked.
    pub attempts: u32,
    /// How long the router waited before each attempt after the first.
    pub backoffs: Vec<Duration>,
    /// The router refused the request: overload, no eligible worker, not to be served here.
    pub refused: bool,
    /// The client left while it sent its request: the answer that carries this never went out.
    pub client_left: bool,
    /// What comes of the prefill worker's own reply, for a prefill/decode pair.
    pub prefill_reply: Option<PrefillReply>,
}

/// What a prefill worker's reply came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PrefillReport {
    /// The counts that it states.
    pub usage: Option<Usage>,
    /// The time from when it was asked to the end of its reply: reading the prompt and handing over
    /// its KV cache.
    pub duration: Duration,
}

/// A report that becomes known when the prefill worker's reply ends, at the latest when its leg is
/// given up. The reply may end after the decode worker's last byte.
#[derive(Clone)]
pub struct PrefillReply(Arc<Mutex<State>>);

/// The end that makes the report known: by sending it, or as not known by being dropped.
#[derive(Debug)]
pub struct PrefillReporter(Option<PrefillReply>);

type Callback = Box<dyn FnOnce(Option<PrefillReport>) + Send>;

enum State {
    Unknown,
    Asked(Callback),
    Known(Option<PrefillReport>),
}

// === impl PrefillReply ===

impl PrefillReply {
    /// A place for the report, and the end that fills it.
    pub fn channel() -> (PrefillReporter, Self) {
        let reply = Self(Arc::new(Mutex::new(State::Unknown)));
        (PrefillReporter(Some(reply.clone())), reply)
    }

    /// Calls `then` with the report: now if it is known, else as soon as it is. Only the
    /// first caller is called back later.
    pub fn when_known(&self, then: impl FnOnce(Option<PrefillReport>) + Send + 'static) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match *state {
            State::Unknown => *state = State::Asked(Box::new(then)),
            State::Asked(_) => {}
            State::Known(report) => {
                drop(state);
                then(report);
            }
        }
    }

    fn settle(&self, report: Option<PrefillReport>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *state, State::Known(report));
        drop(state);
        if let State::Asked(then) = before {
            then(report);
        }
    }
}

impl fmt::Debug for PrefillReply {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrefillReply").finish_non_exhaustive()
    }
}

// === impl PrefillReporter ===

impl PrefillReporter {
    /// Makes the report known.
    pub fn send(mut self, report: PrefillReport) {
        if let Some(place) = self.0.take() {
            place.settle(Some(report));
        }
    }
}

impl Drop for PrefillReporter {
    fn drop(&mut self) {
        if let Some(place) = self.0.take() {
            place.settle(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc, time::Duration};

    use super::{PrefillReply, PrefillReport};

    #[test]
    fn the_report_reaches_the_asker_before_and_after() {
        let report = PrefillReport { usage: None, duration: Duration::from_millis(3) };
        let (answers, got) = mpsc::channel();

        let (reporter, early) = PrefillReply::channel();
        let answer = answers.clone();
        early.when_known(move |report| answer.send(report).unwrap());
        assert!(got.try_recv().is_err());
        reporter.send(report);
        assert_eq!(got.try_recv(), Ok(Some(report)));

        let (reporter, late) = PrefillReply::channel();
        reporter.send(report);
        let answer = answers.clone();
        late.when_known(move |report| answer.send(report).unwrap());
        assert_eq!(got.try_recv(), Ok(Some(report)));
    }

    #[test]
    fn a_leg_given_up_is_not_known() {
        let (answers, got) = mpsc::channel();
        let (reporter, reply) = PrefillReply::channel();
        reply.when_known(move |report| answers.send(report).unwrap());
        drop(reporter);
        assert_eq!(got.try_recv(), Ok(None));
    }
}
