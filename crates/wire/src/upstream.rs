//! What a router tells the meter about the way a request went.

use std::{
    fmt,
    sync::{Arc, Mutex, PoisonError},
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
    /// The router refused the request: overload, no eligible worker, not to be served here.
    pub refused: bool,
    /// The client left while it sent its request: the answer that carries this never went out.
    pub client_left: bool,
    /// What the prefill worker's own reply states, for a prefill/decode pair.
    pub prefill_usage: Option<PrefillUsage>,
}

/// Counts that become known when the prefill worker's reply ends, at the latest when its leg is
/// given up. The reply may end after the decode worker's last byte.
#[derive(Clone)]
pub struct PrefillUsage(Arc<Mutex<State>>);

/// The end that makes the counts known: by sending them, or as not known by being dropped.
#[derive(Debug)]
pub struct PrefillUsageSender(Option<PrefillUsage>);

type Callback = Box<dyn FnOnce(Option<Usage>) + Send>;

enum State {
    Unknown,
    Asked(Callback),
    Known(Option<Usage>),
}

// === impl PrefillUsage ===

impl PrefillUsage {
    /// A place for the counts, and the end that fills it.
    pub fn channel() -> (PrefillUsageSender, Self) {
        let usage = Self(Arc::new(Mutex::new(State::Unknown)));
        (PrefillUsageSender(Some(usage.clone())), usage)
    }

    /// Calls `then` with the counts: now if they are known, else as soon as they are. Only the
    /// first caller is called back later.
    pub fn when_known(&self, then: impl FnOnce(Option<Usage>) + Send + 'static) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match *state {
            State::Unknown => *state = State::Asked(Box::new(then)),
            State::Asked(_) => {}
            State::Known(usage) => {
                drop(state);
                then(usage);
            }
        }
    }

    fn settle(&self, usage: Option<Usage>) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let before = std::mem::replace(&mut *state, State::Known(usage));
        drop(state);
        if let State::Asked(then) = before {
            then(usage);
        }
    }
}

impl fmt::Debug for PrefillUsage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PrefillUsage").finish_non_exhaustive()
    }
}

// === impl PrefillUsageSender ===

impl PrefillUsageSender {
    /// Makes the counts known.
    pub fn send(mut self, usage: Option<Usage>) {
        if let Some(place) = self.0.take() {
            place.settle(usage);
        }
    }
}

impl Drop for PrefillUsageSender {
    fn drop(&mut self) {
        if let Some(place) = self.0.take() {
            place.settle(None);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::PrefillUsage;
    use crate::Usage;

    #[test]
    fn counts_reach_the_asker_before_and_after() {
        let usage = Some(Usage { cached: Some(3), ..Usage::default() });
        let (answers, got) = mpsc::channel();

        let (sender, early) = PrefillUsage::channel();
        let answer = answers.clone();
        early.when_known(move |usage| answer.send(usage).unwrap());
        assert!(got.try_recv().is_err());
        sender.send(usage);
        assert_eq!(got.try_recv(), Ok(usage));

        let (sender, late) = PrefillUsage::channel();
        sender.send(usage);
        let answer = answers.clone();
        late.when_known(move |usage| answer.send(usage).unwrap());
        assert_eq!(got.try_recv(), Ok(usage));
    }

    #[test]
    fn a_leg_given_up_is_not_known() {
        let (answers, got) = mpsc::channel();
        let (sender, usage) = PrefillUsage::channel();
        usage.when_known(move |usage| answers.send(usage).unwrap());
        drop(sender);
        assert_eq!(got.try_recv(), Ok(None));
    }
}
