//! What engines count since they started, and what that says about the last minute.

mod trend;

use std::collections::BTreeMap;

pub(crate) use self::trend::Window;

/// One thing that engines count. Those of a pair are divided by each other: what was counted since
/// the start says little, what both grew by in a minute says how it goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Counter {
    /// Prompt tokens looked up in the cache, and those of them found there.
    LookedUp,
    Found,
    /// As the two above, counted batch by batch: SGLang up to 0.5.17.
    Batched,
    BatchedFound,
    /// As above, counted when a request ends: SGLang from 0.4.4. Decode counts prefill's again.
    Finished,
    FinishedFound,
    /// Divided by its weight: the speed of a transfer, in bytes a second.
    Speed,
    SpeedWeight,
    /// Divided by its weight: the time of a transfer, in seconds.
    Time,
    TimeWeight,
    /// Requests put back for lack of room.
    Preemptions,
    /// KV transfers that failed.
    TransferFailures,
}

/// One name, without the prefix, and what it counts.
#[derive(Debug)]
pub(crate) struct CounterRule {
    pub(crate) name: &'static str,
    pub(crate) counter: Counter,
    /// Only series with this label count.
    pub(crate) only: Option<(&'static str, &'static str)>,
    /// To the unit of the counter.
    pub(crate) scale: f64,
}

/// The value of each counter, where it is known.
pub(crate) type Totals = [Option<f64>; Counter::COUNT];

/// More data ranks, or more copies of one, than an engine has are not believed.
const MAX_SERIES: usize = 1024;

/// The counters of a page. The ranks of one pool may repeat each other's, so each is kept apart.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts(BTreeMap<Option<String>, BTreeMap<String, Totals>>);

// === impl Counter ===

impl Counter {
    /// How many there are.
    pub(crate) const COUNT: usize = Self::TransferFailures as usize + 1;
}

// === impl CounterRule ===

impl CounterRule {
    pub(crate) const fn new(name: &'static str, counter: Counter) -> Self {
        Self { name, counter, only: None, scale: 1.0 }
    }

    pub(crate) const fn scaled(self, scale: f64) -> Self {
        Self { scale, ..self }
    }

    pub(crate) const fn only(self, label: &'static str, value: &'static str) -> Self {
        Self { only: Some((label, value)), ..self }
    }
}

// === impl Counts ===

impl Counts {
    /// Adds a series of one rank: `copy` tells apart the ranks of one pool.
    pub(crate) fn add(&mut self, rank: Option<String>, copy: String, counter: Counter, value: f64) {
        if !self.has_room_for(&rank, &copy) {
            return;
        }
        let totals = self.0.entry(rank).or_default().entry(copy).or_default();
        let total = &mut totals[counter as usize];
        *total = Some(total.unwrap_or_default() + value);
    }

    /// Of a flood only the first are kept.
    fn has_room_for(&self, rank: &Option<String>, copy: &str) -> bool {
        match self.0.get(rank) {
            Some(copies) => copies.len() < MAX_SERIES || copies.contains_key(copy),
            None => self.0.len() < MAX_SERIES,
        }
    }

    /// Takes those of another page of the same worker in: where both have one, the higher stands.
    pub(crate) fn absorb(&mut self, other: Self) {
        for (rank, copies) in other.0 {
            let mine = self.0.entry(rank).or_default();
            for (copy, totals) in copies {
                let mine = mine.entry(copy).or_default();
                for (mine, other) in mine.iter_mut().zip(totals) {
                    *mine = greater(*mine, other);
                }
            }
        }
    }

    /// Over the ranks of a pool the highest, over the data ranks the sum.
    pub(crate) fn totals(&self) -> Totals {
        let mut all = Totals::default();
        for copies in self.0.values() {
            let mut pool = Totals::default();
            for totals in copies.values() {
                for (pool, &value) in pool.iter_mut().zip(totals) {
                    *pool = greater(*pool, value);
                }
            }
            for (all, value) in all.iter_mut().zip(pool) {
                *all = all.iter().copied().chain(value).reduce(|a, b| a + b);
            }
        }
        all
    }
}

fn greater(a: Option<f64>, b: Option<f64>) -> Option<f64> {
    a.into_iter().chain(b).reduce(f64::max)
}
