//! The `/metrics` page in the order and spelling of vLLM 0.32.0.
//!
//! Everything is there from the start, once a data rank; only the load gauges of several ranks wait
//! for each rank's first request. A KV block is [`BLOCK`] tokens, but usage is told to the token.

mod families;
mod tally;

use plimsoll_wire::Role;

use self::families::{COUNTERS, Family, GAUGES, PAIR_COUNTERS, SLEEP_STATE, Series, Source};
pub(crate) use self::tally::{Ending, Tally};
use super::{histogram::Histogram, text::Page};
use crate::{
    rank::{BLOCK, Rank},
    state::Engine,
    sync::lock,
};

/// Name, help and counts of a histogram.
type Times = (&'static str, &'static str, fn(&Tally) -> &Histogram);

/// Histograms that only an engine of a pair has.
const PAIR_HISTOGRAMS: [Times; 2] = [
    ("nixl_xfer_time_seconds", "Histogram of transfer duration for NIXL KV transfers.", |tally| {
        &tally.transfer_time
    }),
    ("nixl_bytes_transferred", "Histogram of bytes transferred per NIXL KV transfer.", |tally| {
        &tally.transfer_bytes
    }),
];

const HISTOGRAMS: [Times; 2] = [
    ("time_to_first_token_seconds", "Histogram of time to first token in seconds.", |tally| {
        &tally.first_token
    }),
    ("e2e_request_latency_seconds", "Histogram of e2e request latency in seconds.", |tally| {
        &tally.end_to_end
    }),
];

/// Renders the page.
pub(super) fn page(engine: &Engine) -> String {
    let mut process = Page::new("process_");
    let name = "start_time_seconds";
    process.family(name, "gauge", "Start time of the process since unix epoch in seconds.");
    process.sample(name, &[], engine.created as f64);
    let mut writer = Writer { engine, page: Page::new("vllm:") };
    if engine.config.metrics {
        writer.write();
    }
    process.into_text() + &writer.page.into_text()
}

struct Writer<'a> {
    engine: &'a Engine,
    page: Page,
}

// === impl Writer ===

impl Writer<'_> {
    fn write(&mut self) {
        if self.engine.config.role != Role::Plain {
            PAIR_HISTOGRAMS.iter().for_each(|histogram| self.histogram(histogram));
            PAIR_COUNTERS.iter().for_each(|family| self.counter(family));
        }
        let only = self.engine.ranks.len() == 1;
        for family in &GAUGES {
            self.page.family(family.name, "gauge", family.help);
            self.series(family.name, &family.series, |source| only || source.view.activity.started);
        }
        self.page.family(SLEEP_STATE.name, "gauge", SLEEP_STATE.help);
        self.series(SLEEP_STATE.name, &SLEEP_STATE.series, |_| true);
        COUNTERS.iter().for_each(|family| self.counter(family));
        HISTOGRAMS.iter().for_each(|histogram| self.histogram(histogram));
        self.cache_config();
    }

    /// A counter, and when each of its series began.
    fn counter(&mut self, family: &Family) {
        let (total, created) =
            (format!("{}_total", family.name), format!("{}_created", family.name));
        self.page.family(&total, "counter", family.help);
        self.series(&total, &family.series, |_| true);
        self.page.family(&created, "gauge", family.help);
        self.each_rank(|page, labels, _, began| match &family.series {
            Series::One(_) => page.sample(&created, labels, began),
            Series::By(label, series) => {
                for (value, _) in *series {
                    page.sample(&created, &with(labels, label, value), began);
                }
            }
        });
    }

    fn series(&mut self, name: &str, series: &Series, shown: impl Fn(&Source<'_>) -> bool) {
        self.each_rank(|page, labels, source, _| match series {
            _ if !shown(source) => {}
            Series::One(read) => page.sample(name, labels, read(source)),
            Series::By(label, series) => {
                for (value, read) in *series {
                    page.sample(name, &with(labels, label, value), read(source));
                }
            }
        });
    }

    fn histogram(&mut self, (name, help, counts): &Times) {
        self.page.family(name, "histogram", help);
        self.each_rank(|page, labels, source, _| {
            counts(source.tally).write_alone(page, name, labels);
        });
        let created = format!("{name}_created");
        self.page.family(&created, "gauge", help);
        self.each_rank(|page, labels, _, began| page.sample(&created, labels, began));
    }

    /// The pool's size, in labels. The number of blocks is that of all ranks, in each rank's series.
    fn cache_config(&mut self) {
        let capacity = self.engine.config.capacity_tokens;
        let blocks = (capacity / BLOCK * self.engine.ranks.len() as u64).to_string();
        let (capacity, block) = (capacity.to_string(), BLOCK.to_string());
        let name = "cache_config_info";
        self.page.family(name, "gauge", "Information of the LLMEngine CacheConfig.");
        for engine in 0..self.engine.ranks.len() {
            let labels = [
                ("block_size", block.as_str()),
                ("cache_dtype", "auto"),
                ("enable_prefix_caching", "True"),
                ("engine", &engine.to_string()),
                ("gpu_memory_utilization", "0.92"),
                ("kv_cache_size_tokens", &capacity),
                ("num_cpu_blocks", "None"),
                ("num_gpu_blocks", &blocks),
                ("num_gpu_blocks_override", "None"),
            ];
            self.page.sample(name, &labels, 1.0);
        }
    }

    /// Calls `write` with each rank's labels and figures, and when the engine began.
    fn each_rank(&mut self, write: impl Fn(&mut Page, &[(&str, &str)], &Source<'_>, f64)) {
        let Engine { config, ranks, created, .. } = self.engine;
        for (at, rank) in ranks.iter().enumerate() {
            let rank: &Rank = rank;
            let labels = [("engine", &*at.to_string()), ("model_name", &config.model)];
            let source = Source { config, view: rank.view(), tally: &lock(&rank.tally) };
            write(&mut self.page, &labels, &source, *created as f64);
        }
    }
}

/// Labels with one more, in alphabetical order.
fn with<'a>(
    labels: &[(&'a str, &'a str)],
    label: &'a str,
    value: &'a str,
) -> Vec<(&'a str, &'a str)> {
    let mut labels = labels.to_vec();
    labels.insert(labels.partition_point(|(name, _)| *name < label), (label, value));
    labels
}
