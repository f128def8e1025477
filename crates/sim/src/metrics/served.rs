//! What finished requests add up to: the metrics of SGLang's front end, which have no rank.

use std::time::Duration;

use super::{histogram::Histogram, text::Page};
use crate::{config::engine_type, state::Engine};

/// Bucket bounds of the time to the first token, seconds.
const FIRST_TOKEN: &[f64] = &[
    0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 20.0, 40.0, 60.0, 80.0, 100.0, 200.0,
    400.0,
];

/// Bucket bounds of the time to the last token, seconds.
const END_TO_END: &[f64] = &[
    0.1, 0.2, 0.4, 0.6, 0.8, 1.0, 2.0, 4.0, 6.0, 8.0, 10.0, 20.0, 40.0, 60.0, 80.0, 100.0, 200.0,
    400.0, 600.0, 1200.0, 1800.0, 2400.0,
];

/// A prompt that has been answered.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Finished {
    pub(crate) stream: bool,
    /// Tokens.
    pub(crate) prompt: u64,
    /// Tokens.
    pub(crate) generated: u64,
    /// Prompt tokens found in a cache.
    pub(crate) cached: u64,
    pub(crate) first_token_after: Duration,
    pub(crate) finished_after: Duration,
}

/// Sums over finished prompts, not streamed and streamed.
#[derive(Debug, Default)]
pub(crate) struct Served {
    kinds: [Option<Sums>; 2],
    cached: u64,
}

#[derive(Debug)]
struct Sums {
    prompt: u64,
    generated: u64,
    requests: u64,
    first_token: Histogram,
    end_to_end: Histogram,
}

type Count = fn(&Sums) -> u64;

type Times = fn(&Sums) -> &Histogram;

/// Name, help and value of each counter kept by kind of request.
const COUNTERS: [(&str, &str, Count); 3] = [
    ("prompt_tokens_total", "Number of prefill tokens processed.", |sums| sums.prompt),
    ("generation_tokens_total", "Number of generation tokens processed.", |sums| sums.generated),
    ("num_requests_total", "Number of requests processed.", |sums| sums.requests),
];

/// Name, help and counts of each histogram kept by kind of request.
const HISTOGRAMS: [(&str, &str, Times); 2] = [
    ("time_to_first_token_seconds", "Histogram of time to first token in seconds.", |sums| {
        &sums.first_token
    }),
    ("e2e_request_latency_seconds", "Histogram of End-to-end request latency in seconds", |sums| {
        &sums.end_to_end
    }),
];

// === impl Served ===

impl Served {
    pub(crate) fn add(&mut self, finished: &Finished) {
        self.cached += finished.cached;
        let sums = self.kinds[usize::from(finished.stream)].get_or_insert_with(Sums::new);
        sums.prompt += finished.prompt;
        sums.generated += finished.generated;
        sums.requests += 1;
        sums.first_token.observe(finished.first_token_after);
        sums.end_to_end.observe(finished.finished_after);
    }

    /// Writes the families that have something to tell.
    pub(super) fn write(&self, page: &mut Page, engine: &Engine) {
        let engine_type = engine_type(engine.config.role);
        let model = engine.config.model.as_str();
        for (name, help, field) in COUNTERS {
            self.each(page, name, "counter", help, |page, kind, sums| {
                page.sample(name, &kind_labels(engine_type, kind, model), field(sums) as f64);
            });
        }
        let labels = [("engine_type", engine_type), ("model_name", model)];
        if self.cached > 0 {
            let name = "cached_tokens_total";
            page.family(name, "counter", "Number of cached prompt tokens.");
            let labels = [&[("cache_source", "device")], &labels[..]].concat();
            page.sample(name, &labels, self.cached as f64);
        }
        let aborted = engine.totals.borrow().aborted;
        if aborted > 0 {
            let name = "num_aborted_requests_total";
            page.family(name, "counter", "Number of requests aborted.");
            page.sample(name, &labels, aborted as f64);
        }
        for (name, help, histogram) in HISTOGRAMS {
            self.each(page, name, "histogram", help, |page, kind, sums| {
                let labels = kind_labels(engine_type, kind, model);
                histogram(sums).write(page, name, &labels);
            });
        }
    }

    /// Writes a family with one entry for each kind of request there has been, if any.
    fn each(
        &self,
        page: &mut Page,
        name: &str,
        kind: &str,
        help: &str,
        write: impl Fn(&mut Page, &'static str, &Sums),
    ) {
        if self.kinds.iter().any(Option::is_some) {
            page.family(name, kind, help);
        }
        for (kind, sums) in ["false", "true"].into_iter().zip(&self.kinds) {
            if let Some(sums) = sums {
                write(page, kind, sums);
            }
        }
    }
}

fn kind_labels<'a>(engine_type: &'a str, kind: &'a str, model: &'a str) -> [(&'a str, &'a str); 3] {
    [("engine_type", engine_type), ("is_streaming", kind), ("model_name", model)]
}

// === impl Sums ===

impl Sums {
    fn new() -> Self {
        Self {
            prompt: 0,
            generated: 0,
            requests: 0,
            first_token: Histogram::new(FIRST_TOKEN),
            end_to_end: Histogram::new(END_TO_END),
        }
    }
}
