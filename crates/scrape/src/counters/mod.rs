//! What engines count since they started, and what that says about the last minute.

mod trend;

use std::collections::{BTreeMap, BTreeSet};

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

/// More series than an engine has are not believed.
const MAX_SERIES: usize = 1024;

/// The counters of the pages of one worker.
#[derive(Clone, Debug, Default)]
pub(crate) struct Counts {
    /// Which pages they are from.
    pages: BTreeSet<usize>,
    series: BTreeMap<Series, Totals>,
}

/// Whose counters they are. The ranks of one pool may repeat each other's, so each is kept apart.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Series {
    /// The data rank.
    rank: Option<String>,
    /// The ranks of its pool.
    copy: String,
    /// The worker's page that has it, by its place in the configuration.
    page: usize,
}

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
    /// Those of a worker's first page, before it is read.
    pub(crate) fn of_a_page() -> Self {
        Self { pages: BTreeSet::from([0]), series: BTreeMap::new() }
    }

    /// Adds a series of one rank: `copy` tells apart the ranks of one pool. Of a flood only the first
    /// are kept.
    pub(crate) fn add(&mut self, rank: Option<String>, copy: String, counter: Counter, value: f64) {
        let series = Series { rank, copy, page: 0 };
        if self.has_room_for(&series) {
            let total = &mut self.series.entry(series).or_default()[counter as usize];
            *total = Some(total.unwrap_or_default() + value);
        }
    }

    fn has_room_for(&self, series: &Series) -> bool {
        self.series.len() < MAX_SERIES || self.series.contains_key(series)
    }

    /// Says that they are from another page than the first.
    pub(crate) fn move_to(&mut self, page: usize) {
        if page > 0 {
            let series = std::mem::take(&mut self.series).into_iter();
            self.series =
                series.map(|(series, totals)| (Series { page, ..series }, totals)).collect();
            self.pages = BTreeSet::from([page]);
        }
    }

    /// Takes those of another page of the same worker in: where both have one, the higher stands.
    pub(crate) fn absorb(&mut self, other: Self) {
        self.pages.extend(other.pages);
        for (series, totals) in other.series {
            let mine = self.series.entry(series).or_default();
            for (mine, other) in mine.iter_mut().zip(totals) {
                *mine = greater(*mine, other);
            }
        }
    }

    /// Keeps of what was counted before what is not there now, as that of a page that failed.
    fn keep(&mut self, before: Self) {
        self.pages.extend(before.pages);
        for (series, totals) in before.series {
            if self.has_room_for(&series) {
                let mine = self.series.entry(series).or_default();
                for (mine, before) in mine.iter_mut().zip(totals) {
                    *mine = mine.or(before);
                }
            }
        }
    }

    /// One of its series is below what was counted before.
    fn fell_below(&self, before: &Self) -> bool {
        let both = self
            .series
            .iter()
            .filter_map(|(series, totals)| Some(before.series.get(series)?.iter().zip(totals)));
        both.flatten().any(|pair| matches!(pair, (Some(before), Some(now)) if now < before))
    }

    /// One of its pages was not read before.
    fn has_pages_beside(&self, before: &Self) -> bool {
        !self.pages.is_subset(&before.pages)
    }

    /// Over the copies of a rank's counters the highest, over the data ranks the sum.
    pub(crate) fn totals(&self) -> Totals {
        let mut ranks = BTreeMap::<_, Totals>::new();
        for (Series { rank, .. }, totals) in &self.series {
            let pool = ranks.entry(rank).or_default();
            for (pool, &value) in pool.iter_mut().zip(totals) {
                *pool = greater(*pool, value);
            }
        }
        let mut all = Totals::default();
        for pool in ranks.into_values() {
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
