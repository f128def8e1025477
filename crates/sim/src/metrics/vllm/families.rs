//! The families of one value a series, in the page's order.

use super::tally::{Ending, Tally};
use crate::{config::SimConfig, rank::RankView};

/// What a rank's series are read from.
#[derive(Debug)]
pub(super) struct Source<'a> {
    pub(super) config: &'a SimConfig,
    pub(super) view: RankView,
    pub(super) tally: &'a Tally,
}

type Read = fn(&Source<'_>) -> f64;

/// A gauge or counter.
#[derive(Debug)]
pub(super) struct Family {
    /// Without `vllm:`, and of a counter without `_total`.
    pub(super) name: &'static str,
    pub(super) help: &'static str,
    pub(super) series: Series,
}

/// One series a rank, or one for each value of a further label.
#[derive(Debug)]
pub(super) enum Series {
    One(Read),
    By(&'static str, &'static [(&'static str, Read)]),
}

const fn one(name: &'static str, help: &'static str, read: Read) -> Family {
    Family { name, help, series: Series::One(read) }
}

const fn by(
    name: &'static str,
    help: &'static str,
    label: &'static str,
    series: &'static [(&'static str, Read)],
) -> Family {
    Family { name, help, series: Series::By(label, series) }
}

/// Counters that only an engine of a pair has.
pub(super) const PAIR_COUNTERS: [Family; 4] = [
    one("nixl_num_failed_transfers", "Number of failed NIXL KV transfers.", |s| {
        s.tally.failed_transfers as f64
    }),
    one("nixl_num_failed_notifications", "Number of failed NIXL notifications.", |_| 0.0),
    one("nixl_num_kv_expired_reqs", "Number of requests whose KV expired.", |s| {
        s.tally.expired as f64
    }),
    one("nixl_num_notifications_after_expiry", "Notifications after expiry.", |_| 0.0),
];

/// Gauges. Of several data ranks, those that have run nothing yet have none of them.
pub(super) const GAUGES: [Family; 4] = [
    one("num_requests_running", "Number of requests in model execution batches.", |s| {
        s.view.running as f64
    }),
    one("num_requests_waiting", "Number of requests waiting to be processed.", |s| {
        (s.view.waiting + s.view.transfer) as f64
    }),
    by(
        "num_requests_waiting_by_reason",
        "Number of requests waiting to be processed, by reason.",
        "reason",
        &[("capacity", |s| s.view.waiting as f64), ("deferred", |s| s.view.transfer as f64)],
    ),
    one("kv_cache_usage_perc", "KV-cache usage. 1 means 100 percent usage.", |s| {
        s.view.used as f64 / s.config.capacity_tokens as f64
    }),
];

/// The gauge that every rank has from the start.
pub(super) const SLEEP_STATE: Family = by(
    "engine_sleep_state",
    "Engine sleep state.",
    "sleep_state",
    &[("awake", |_| 1.0), ("weights_offloaded", |_| 0.0), ("discard_all", |_| 0.0)],
);

/// Counters.
pub(super) const COUNTERS: [Family; 11] = [
    one("prefix_cache_queries", "Prefix cache queries, in tokens.", prompt),
    one("prefix_cache_hits", "Prefix cache hits, in tokens.", |s| s.view.activity.cached as f64),
    one("external_prefix_cache_queries", "Queries of a KV connector, in tokens.", |s| {
        let asks = s.config.role != plimsoll_wire::Role::Plain;
        if asks { prompt(s) - s.view.activity.cached as f64 } else { 0.0 }
    }),
    one("external_prefix_cache_hits", "Hits of a KV connector, in tokens.", |s| {
        s.view.activity.fetched as f64
    }),
    one("num_preemptions", "Cumulative number of preemptions from the engine.", |_| 0.0),
    one("prompt_tokens", "Number of prefill tokens processed.", prompt),
    by(
        "prompt_tokens_by_source",
        "Number of prompt tokens by source.",
        "source",
        &[
            ("local_compute", |s| s.view.activity.computed as f64),
            ("local_cache_hit", |s| s.view.activity.cached as f64),
            ("external_kv_transfer", |s| s.view.activity.fetched as f64),
        ],
    ),
    one("prompt_tokens_cached", "Number of cached prompt tokens.", |s| {
        (s.view.activity.cached + s.view.activity.fetched) as f64
    }),
    by(
        "prompt_tokens_cached_by_source",
        "Number of cached prompt tokens by source.",
        "source",
        &[
            ("device", |s| s.view.activity.cached as f64),
            ("host", |_| 0.0),
            ("p2p", |s| s.view.activity.fetched as f64),
            ("disk", |_| 0.0),
            ("external_unspecified", |_| 0.0),
        ],
    ),
    one("generation_tokens", "Number of generation tokens processed.", |s| {
        s.view.activity.generated as f64
    }),
    by(
        "request_success",
        "Count of successfully processed requests.",
        "finished_reason",
        &[
            ("stop", |s| s.tally.endings(Ending::Stop) as f64),
            ("length", |s| s.tally.endings(Ending::Length) as f64),
            ("abort", |s| s.tally.endings(Ending::Abort) as f64),
            ("error", |s| s.tally.endings(Ending::Error) as f64),
            ("repetition", |_| 0.0),
        ],
    ),
];

/// All prompt tokens, wherever their KV came from.
fn prompt(source: &Source<'_>) -> f64 {
    let activity = source.view.activity;
    (activity.computed + activity.cached + activity.fetched) as f64
}
