//! Gauges and counters of the scheduler, one series a rank.

use plimsoll_wire::Role;

use super::text::{Labels, Page};
use crate::{
    config::{SimConfig, engine_type},
    rank::RankView,
    state::Engine,
};

/// Reads a gauge's value from a rank.
type Read = fn(&SimConfig, &RankView) -> f64;

/// Name, help and value of each gauge that changes, in the page's order.
const CHANGING: [(&str, &str, Read); 24] = [
    ("num_running_reqs", "The number of running requests.", |_, v| v.running as f64),
    ("num_queue_reqs", "The number of requests in the waiting queue.", |_, v| v.waiting as f64),
    ("num_grammar_queue_reqs", "Requests in the grammar waiting queue.", |_, _| 0.0),
    ("gen_throughput", "The generation throughput (token/s).", |_, v| v.activity.throughput()),
    ("cache_hit_rate", "The prefix cache hit rate.", |_, v| v.activity.hit_rate),
    ("token_usage", "The token usage.", |c, v| (ratio(c, v) * 100.0).round() / 100.0),
    ("full_token_usage", "The token usage for full attention layers.", ratio),
    ("swa_token_usage", "The token usage for SWA layers.", |_, _| 0.0),
    ("mamba_usage", "The token usage for Mamba layers.", |_, _| 0.0),
    ("num_used_tokens", "The number of used tokens.", |_, v| v.used as f64),
    ("kv_available_tokens", "Free tokens of the KV pool.", |_, v| v.available as f64),
    ("kv_evictable_tokens", "Evictable tokens of the KV pool.", |_, v| v.evictable as f64),
    ("kv_used_tokens", "Used tokens of the KV pool.", |_, v| v.used as f64),
    ("num_prefill_bootstrap_queue_reqs", "Requests in the prefill bootstrap queue.", |_, v| {
        v.bootstrap as f64
    }),
    ("num_prefill_inflight_queue_reqs", "Requests in the prefill inflight queue.", |_, v| {
        v.inflight as f64
    }),
    ("num_decode_prealloc_queue_reqs", "Requests in the decode prealloc queue.", |_, v| {
        v.prealloc as f64
    }),
    ("num_decode_transfer_queue_reqs", "Requests in the decode transfer queue.", |_, v| {
        v.transfer as f64
    }),
    ("num_decode_host_receive_queue_reqs", "Requests in the host receive queue.", |_, _| 0.0),
    ("num_decode_deferred_kv_release_reqs", "Requests whose KV is released later.", |_, _| 0.0),
    ("pending_prealloc_token_usage", "The token usage for pending requests.", |_, _| 0.0),
    ("prealloc_full_token_usage", "The token usage for preallocated requests.", |_, _| 0.0),
    ("utilization", "The utilization.", |c, _| if c.role == Role::Prefill { -1.0 } else { 0.0 }),
    ("fwd_occupancy", "The forward occupancy.", |_, _| f64::NAN),
    ("new_token_ratio", "The new token ratio.", |_, _| 0.7),
];

fn ratio(config: &SimConfig, view: &RankView) -> f64 {
    view.used as f64 / config.capacity_tokens as f64
}

/// Writes what is known from the start, for every tensor rank.
pub(super) fn constants(page: &mut Page, engine: &Engine) {
    let config = &engine.config;
    let capacity = config.capacity_tokens as f64;
    for (name, help, value) in [
        ("max_total_num_tokens", "Maximum total number of tokens in the KV cache pool.", capacity),
        ("weight_memory_usage_gb", "Memory of the weights in GB.", 0.0035),
        ("kv_cache_memory_usage_gb", "Memory of the KV cache in GB.", 0.0039),
        ("page_size", "The KV cache page size.", 1.0),
        ("num_pages", "The number of KV cache pages.", capacity),
        ("context_len", "The context length.", f64::from(config.context_len)),
        ("startup_available_gpu_memory_gb", "Available memory at startup in GB.", 15.8),
    ] {
        page.family(name, "gauge", help);
        for dp in 0..engine.ranks.len() {
            for tp in 0..config.tp {
                rank_labels(engine, dp, tp, |labels| page.sample(name, labels, value));
            }
        }
    }
}

/// Writes what is known once a batch has run, for the ranks where one has.
pub(super) fn changing(page: &mut Page, engine: &Engine) {
    let config = &engine.config;
    let views = engine.ranks.iter().map(|rank| rank.view()).enumerate();
    let views: Vec<_> = views.filter(|(_, view)| view.activity.started).collect();
    if views.is_empty() {
        return;
    }
    let ranks = if config.metrics_all_ranks { config.tp } else { 1 };
    for (name, help, read) in CHANGING {
        page.family(name, "gauge", help);
        for (dp, view) in &views {
            for tp in 0..ranks {
                let value = read(config, view);
                rank_labels(engine, *dp, tp, |labels| page.sample(name, labels, value));
            }
        }
    }
    let name = "realtime_tokens_total";
    page.family(name, "counter", "Number of tokens processed, by mode.");
    for (dp, view) in &views {
        for (mode, tokens) in [
            ("prefill_compute", view.activity.computed),
            ("decode", view.activity.generated),
            ("prefill_cache", view.activity.cached),
        ] {
            if tokens > 0 {
                rank_labels(engine, *dp, 0, |labels| {
                    let mut labels = labels.to_vec();
                    let place = labels.partition_point(|(label, _)| *label < "mode");
                    labels.insert(place, ("mode", mode));
                    page.sample(name, &labels, tokens as f64);
                });
            }
        }
    }
}

/// Calls `write` with a rank's labels; `dp_rank` only where there is more than one.
fn rank_labels(engine: &Engine, dp: usize, tp: u32, write: impl FnOnce(&Labels<'_>)) {
    let (dp, tp) = (dp.to_string(), tp.to_string());
    let labels = [
        ("dp_rank", dp.as_str()),
        ("engine_type", engine_type(engine.config.role)),
        ("model_name", engine.config.model.as_str()),
        ("moe_ep_rank", "0"),
        ("pp_rank", "0"),
        ("tp_rank", tp.as_str()),
    ];
    write(if engine.ranks.len() > 1 { &labels } else { &labels[1..] });
}
