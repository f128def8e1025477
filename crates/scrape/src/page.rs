//! One page of one engine, its names translated and the copies within each pool merged.

use std::collections::{BTreeMap, HashSet};

use crate::{
    counters::Counts,
    dialect::{Dialect, Value},
    exposition::{self, Labels, Sample},
    signal::Signal,
};

/// How far above 1 a ratio may be and still be one: it is taken for 1.
const EPSILON: f64 = 1e-6;

/// More data ranks than an engine has are not believed.
const MAX_RANKS: u32 = 1024;

/// The series of a page that are looked at, of most engines: room for more is made.
const USUAL_SERIES: usize = 256;

/// The longest name of a model or a rank that is believed, in bytes: each becomes a label.
pub(crate) const MAX_NAME: usize = 256;

/// The labels that tell apart the ranks of one pool, which repeat each other.
const COPIES: [&str; 3] = ["tp_rank", "pp_rank", "moe_ep_rank"];

/// What a page says, by data rank.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// The engine whose names it has: of several, as a re-exporter may have them, the first.
    pub engine: Option<&'static str>,
    /// The model that the engine names.
    pub model: Option<String>,
    /// The data ranks; one without a name where the page does not tell them apart.
    pub(crate) ranks: BTreeMap<Option<String>, Values>,
    /// The engine says which kind it is (SGLang since 0.4.4). Without it, SGLang has added up the
    /// counts of its ranks.
    pub(crate) has_engine_type: bool,
    /// There is nothing on it.
    pub(crate) is_blank: bool,
    /// What the engine has counted since its start.
    pub(crate) counts: Counts,
    /// Samples that were left out.
    pub discarded: Discarded,
}

/// Samples that were left out, by reason.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Discarded {
    /// Lines that are no sample.
    pub malformed: u64,
    /// Not a number.
    pub nan: u64,
    /// Below 0, which no signal can be: some engines write -1 for "off".
    pub negative: u64,
    /// A ratio above 1, or infinite.
    pub out_of_range: u64,
    /// Of a series that the page has already, its labels written alike.
    pub duplicate: u64,
}

/// The signals of one data rank.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Values([Option<Ranked>; Signal::COUNT]);

/// A value, and the place of its name in the order of preference.
#[derive(Clone, Copy, Debug)]
struct Ranked {
    signal: Signal,
    place: usize,
    value: f64,
}

// === impl Page ===

impl Page {
    /// Reads a page. Nothing in it is an error: what cannot be used is counted. Of two samples with
    /// the same name and labels the first stands, as with Prometheus.
    pub fn read(text: &str) -> Self {
        let mut page = Self {
            is_blank: text.trim_ascii().is_empty(),
            counts: Counts::of_a_page(),
            ..Self::default()
        };
        let mut seen = HashSet::with_capacity(USUAL_SERIES);
        for line in exposition::lines_of(text, |name| Dialect::find(name).is_some()) {
            match line {
                Ok(sample) if seen.insert((sample.name, sample.labels)) => page.take(&sample),
                Ok(_) => page.discarded.duplicate += 1,
                Err(exposition::Malformed) => page.discarded.malformed += 1,
            }
        }
        page
    }

    /// Takes another page of the same worker in, as that of its second node: what this one says
    /// already is reduced with what that one says of the same data rank.
    pub fn absorb(&mut self, other: Self) {
        self.engine = self.engine.or(other.engine);
        self.model = self.model.take().or(other.model);
        for (rank, values) in other.ranks {
            self.ranks.entry(rank).or_default().absorb(&values);
        }
        self.has_engine_type |= other.has_engine_type;
        self.is_blank &= other.is_blank;
        self.counts.absorb(other.counts);
        self.discarded += other.discarded;
    }

    /// Puts a value beside those of the page, for want of one there; it is left out if it is none.
    /// The answer is whether it was wanted.
    pub(crate) fn supply(&mut self, rank: Option<&str>, signal: Signal, value: f64) -> bool {
        let Some(value) = self.usable(signal, value) else { return false };
        let Some(values) = self.rank(rank.map(str::to_owned)) else { return false };
        let wanted = values.get(signal).is_none();
        if wanted {
            values.put(Ranked { signal, place: usize::MAX, value });
        }
        wanted
    }

    /// The data rank, if it has just one.
    pub(crate) fn only_rank(&self) -> Option<Option<String>> {
        self.ranks.keys().next().filter(|_| self.ranks.len() == 1).cloned()
    }

    /// How many data ranks it tells apart, if it does.
    pub(crate) fn named_ranks(&self) -> Option<u32> {
        let named = self.ranks.keys().flatten().count();
        u32::try_from(named).ok().filter(|&named| named > 0)
    }

    /// Makes room for data ranks that it says nothing of.
    pub(crate) fn expect(&mut self, data_ranks: u32) {
        if data_ranks > 1 {
            (0..data_ranks.min(MAX_RANKS)).for_each(|rank| {
                self.ranks.entry(Some(rank.to_string())).or_default();
            });
        } else if self.ranks.is_empty() {
            self.ranks.entry(None).or_default();
        }
    }

    /// Some data rank does not say what its pool holds.
    pub(crate) fn lacks_capacity(&self) -> bool {
        self.ranks.values().any(|values| values.get(Signal::Capacity).is_none())
    }

    /// The highest value of all data ranks.
    pub(crate) fn highest(&self, signal: Signal) -> Option<f64> {
        self.ranks.values().filter_map(|values| values.get(signal)).reduce(f64::max)
    }

    /// Every data rank has given its memory back.
    pub(crate) fn is_asleep(&self) -> bool {
        let asleep = |values: &Values| values.get(Signal::Awake) == Some(0.0);
        !self.ranks.is_empty() && self.ranks.values().all(asleep)
    }

    /// The values of a data rank, if there is room for it.
    fn rank(&mut self, rank: Option<String>) -> Option<&mut Values> {
        if !self.has_room_for(&rank) {
            self.discarded.out_of_range += 1;
            return None;
        }
        Some(self.ranks.entry(rank).or_default())
    }

    /// Of a flood of ranks only the first [`MAX_RANKS`] are kept, and none whose name is no name.
    fn has_room_for(&self, rank: &Option<String>) -> bool {
        let is_name = rank.as_ref().is_none_or(|rank| rank.len() <= MAX_NAME);
        is_name && (self.ranks.len() < MAX_RANKS as usize || self.ranks.contains_key(rank))
    }

    fn take(&mut self, sample: &Sample<'_>) {
        let Some((dialect, bare)) = Dialect::find(sample.name) else { return };
        // With priority scheduling "" is the whole and the others are its parts.
        if sample.labels.get("priority").is_some_and(|priority| !priority.is_empty()) {
            return;
        }
        self.engine.get_or_insert(dialect.engine);
        if self.model.is_none() {
            let model = sample.labels.get("model_name").filter(|name| name.len() <= MAX_NAME);
            self.model = model.map(std::borrow::Cow::into_owned);
        }
        self.has_engine_type |= sample.labels.get("engine_type").is_some();
        for (place, rule) in dialect.rules(bare) {
            let value = match rule.value {
                Value::Sample => Some(sample.value),
                Value::Label(label) => number(sample.labels, label),
                Value::Where(label, wanted) => {
                    let here = sample.labels.get(label).is_some_and(|value| value == wanted);
                    here.then_some(sample.value)
                }
            };
            let value = value.map(|value| value * rule.scale);
            if let Some(value) = value.and_then(|value| self.usable(rule.signal, value)) {
                let rank = sample.labels.get(dialect.rank_label).map(std::borrow::Cow::into_owned);
                if let Some(values) = self.rank(rank) {
                    values.put(Ranked { signal: rule.signal, place, value });
                }
            }
        }
        self.count(sample, dialect, bare);
    }

    fn count(&mut self, sample: &Sample<'_>, dialect: &Dialect, bare: &str) {
        let get = |label| sample.labels.get(label);
        for rule in dialect.counters(bare) {
            let here = |(label, wanted)| get(label).is_some_and(|value| value == wanted);
            let usable = sample.value.is_finite() && sample.value >= 0.0;
            let rank = get(dialect.rank_label).map(std::borrow::Cow::into_owned);
            if usable && rule.only.is_none_or(here) && self.has_room_for(&rank) {
                let copy = COPIES.map(|label| get(label).unwrap_or_default()).join("/");
                self.counts.add(rank, copy, rule.counter, sample.value * rule.scale);
            }
        }
    }

    /// The value of a signal; `None`, and counted, if it can be none.
    fn usable(&mut self, signal: Signal, value: f64) -> Option<f64> {
        let reason = if value.is_nan() {
            &mut self.discarded.nan
        } else if value < 0.0 {
            &mut self.discarded.negative
        } else if value.is_infinite() || (signal.is_ratio() && value > 1.0 + EPSILON) {
            &mut self.discarded.out_of_range
        } else {
            return Some(if signal.is_ratio() { value.min(1.0) } else { value });
        };
        *reason += 1;
        None
    }
}

/// A number in a label; "None", as Python writes it, is none.
fn number(labels: Labels<'_>, label: &str) -> Option<f64> {
    labels.get(label)?.parse().ok()
}

// === impl Discarded ===

impl std::ops::AddAssign for Discarded {
    fn add_assign(&mut self, other: Self) {
        let Self { malformed, nan, negative, out_of_range, duplicate } = other;
        self.malformed += malformed;
        self.nan += nan;
        self.negative += negative;
        self.out_of_range += out_of_range;
        self.duplicate += duplicate;
    }
}

// === impl Values ===

impl Values {
    pub(crate) fn get(&self, signal: Signal) -> Option<f64> {
        self.0[signal as usize].map(|ranked| ranked.value)
    }

    fn absorb(&mut self, other: &Self) {
        other.0.into_iter().flatten().for_each(|value| self.put(value));
    }

    /// A preferred name wins; the copies of one name are reduced.
    fn put(&mut self, new: Ranked) {
        let place = &mut self.0[new.signal as usize];
        *place = Some(match *place {
            Some(old) if old.place < new.place => old,
            Some(old) if old.place == new.place => {
                Ranked { value: new.signal.reduce(old.value, new.value), ..new }
            }
            _ => new,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{Discarded, Page};
    use crate::{counters::Counter, signal::Signal};

    fn ratio(page: &str) -> Option<f64> {
        let page = Page::read(page);
        page.ranks.values().next().and_then(|rank| rank.get(Signal::HeadlineRatio))
    }

    #[test]
    fn both_spellings_of_one_name_are_one_reading() {
        for page in [
            "sglang:token_usage{tp_rank=\"0\"} 0.4",
            "sglang_token_usage{tp_rank=\"0\"} 0.4",
            "sglang:token_usage{tp_rank=\"0\"} 0.4\nsglang_token_usage{tp_rank=\"0\"} 0.4",
        ] {
            assert_eq!(ratio(page), Some(0.4), "{page}");
        }
    }

    #[test]
    fn a_preferred_name_wins_in_any_order() {
        let (old, new) = ("vllm:gpu_cache_usage_perc 0.0", "vllm:kv_cache_usage_perc 0.6");
        for page in [format!("{old}\n{new}"), format!("{new}\n{old}")] {
            assert_eq!(ratio(&page), Some(0.6));
        }
        assert_eq!(ratio("vllm:gpu_cache_usage_perc 0.3"), Some(0.3));
    }

    #[test]
    fn processes_are_no_ranks_and_companions_no_values() {
        let page = "vllm:kv_cache_usage_perc{engine=\"0\",pid=\"41\"} 0.0\n\
                    vllm:kv_cache_usage_perc{engine=\"0\",pid=\"42\"} 0.58\n\
                    vllm:kv_cache_usage_perc_created{engine=\"0\"} 1.75e9\n";
        assert_eq!((ratio(page), Page::read(page).ranks.len()), (Some(0.58), 1));
    }

    #[test]
    fn a_ratio_just_above_1_is_1() {
        let mut page = Page::read("sglang:token_usage 1.0000005\n");
        assert!(page.supply(None, Signal::FullRatio, 1.000_000_5));
        let values = page.ranks.values().next();
        for signal in [Signal::HeadlineRatio, Signal::FullRatio] {
            assert_eq!(values.and_then(|values| values.get(signal)), Some(1.0));
        }
    }

    #[test]
    fn what_is_no_value_is_counted() {
        let page = "sglang:token_usage NaN\nsglang:full_token_usage -1\nsglang:swa_token_usage 1.2\n\
                    sglang:mamba_usage +Inf\nsglang:num_running_reqs{ 3\nother{ 1\n";
        let want = Discarded { malformed: 1, nan: 1, negative: 1, out_of_range: 2, duplicate: 0 };
        assert_eq!(Page::read(page).discarded, want);
    }

    #[test]
    fn the_first_of_two_samples_of_one_series_stands() {
        let page = Page::read(
            "sglang:token_usage{tp_rank=\"0\"} 0.4\n\
             sglang:num_retracted_requests_total{tp_rank=\"0\"} 3\n\
             sglang:token_usage{tp_rank=\"0\"} 0.6\n\
             sglang:num_retracted_requests_total{tp_rank=\"0\"} 3\n\
             sglang:token_usage{tp_rank=\"1\"} 0.3\n",
        );
        assert_eq!(page.discarded, Discarded { duplicate: 2, ..Discarded::default() });
        let values = page.ranks.values().next();
        assert_eq!(values.and_then(|values| values.get(Signal::HeadlineRatio)), Some(0.4));
        assert_eq!(page.counts.totals()[Counter::Preemptions as usize], Some(3.0));
    }
}
