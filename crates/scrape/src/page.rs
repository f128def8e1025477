//! One page of one engine, its names translated and the copies within each pool merged.

use std::collections::BTreeMap;

use crate::{
    dialect::{Dialect, Value},
    exposition::{self, Labels, Sample},
    signal::Signal,
};

/// How far above 1 a ratio may be and still be one, rounded.
const EPSILON: f64 = 1e-6;

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
}

/// The signals of one data rank.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Values([Option<Ranked>; Signal::COUNT]);

/// A value, and the place of its name in the order of preference.
#[derive(Clone, Copy, Debug)]
struct Ranked {
    place: usize,
    value: f64,
}

// === impl Page ===

impl Page {
    /// Reads a page. Nothing in it is an error: what cannot be used is counted.
    pub fn read(text: &str) -> Self {
        let mut page = Self { is_blank: text.trim_ascii().is_empty(), ..Self::default() };
        for line in exposition::lines_of(text, |name| Dialect::find(name).is_some()) {
            match line {
                Ok(sample) => page.take(&sample),
                Err(exposition::Malformed) => page.discarded.malformed += 1,
            }
        }
        page
    }

    /// Every data rank has given its memory back.
    pub(crate) fn is_asleep(&self) -> bool {
        let asleep = |values: &Values| values.get(Signal::Awake) == Some(0.0);
        !self.ranks.is_empty() && self.ranks.values().all(asleep)
    }

    fn take(&mut self, sample: &Sample<'_>) {
        let Some((dialect, bare)) = Dialect::find(sample.name) else { return };
        // With priority scheduling "" is the whole and the others are its parts.
        if sample.labels.get("priority").is_some_and(|priority| !priority.is_empty()) {
            return;
        }
        self.engine.get_or_insert(dialect.engine);
        if self.model.is_none() {
            self.model = sample.labels.get("model_name").map(std::borrow::Cow::into_owned);
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
            if let Some(value) = value.filter(|&value| self.is_usable(rule.signal, value)) {
                let rank = sample.labels.get(dialect.rank_label).map(std::borrow::Cow::into_owned);
                self.ranks.entry(rank).or_default().put(rule.signal, Ranked { place, value });
            }
        }
    }

    fn is_usable(&mut self, signal: Signal, value: f64) -> bool {
        let reason = if value.is_nan() {
            &mut self.discarded.nan
        } else if value < 0.0 {
            &mut self.discarded.negative
        } else if value.is_infinite() || (signal.is_ratio() && value > 1.0 + EPSILON) {
            &mut self.discarded.out_of_range
        } else {
            return true;
        };
        *reason += 1;
        false
    }
}

/// A number in a label; "None", as Python writes it, is none.
fn number(labels: Labels<'_>, label: &str) -> Option<f64> {
    labels.get(label)?.parse().ok()
}

// === impl Values ===

impl Values {
    pub(crate) fn get(&self, signal: Signal) -> Option<f64> {
        self.0[signal as usize].map(|ranked| ranked.value)
    }

    /// A preferred name wins; the copies of one name are reduced.
    fn put(&mut self, signal: Signal, new: Ranked) {
        let place = &mut self.0[signal as usize];
        *place = Some(match *place {
            Some(old) if old.place < new.place => old,
            Some(old) if old.place == new.place => {
                Ranked { value: signal.reduce(old.value, new.value), ..new }
            }
            _ => new,
        });
    }
}

#[cfg(test)]
mod tests {
    use super::{Discarded, Page};
    use crate::signal::Signal;

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
    fn what_is_no_value_is_counted() {
        let page = "sglang:token_usage NaN\nsglang:full_token_usage -1\nsglang:swa_token_usage 1.2\n\
                    sglang:mamba_usage +Inf\nsglang:num_running_reqs{ 3\nother{ 1\n";
        let want = Discarded { malformed: 1, nan: 1, negative: 1, out_of_range: 2 };
        assert_eq!(Page::read(page).discarded, want);
    }
}
