//! SGLang 0.3.6 to 0.5.23, by the collectors of its wheels.

use super::{Counter, CounterRule, Dialect, Rule, Signal};

/// What it calls a GB of a transfer: 2^30 bytes, as its speed times its time shows.
const GB: f64 = 1_073_741_824.0;

/// A ms in seconds.
const MS: f64 = 1e-3;

pub(super) static DIALECT: Dialect = Dialect {
    engine: "sglang",
    prefixes: &["sglang:", "sglang_"],
    rank_label: "dp_rank",
    rules: &[
        // 0.5.6; a constant from the start since 0.5.11
        Rule::new("max_total_num_tokens", Signal::Capacity),
        // 0.5.17, on models with sliding windows
        Rule::new("max_total_num_tokens_swa", Signal::SwaCapacity),
        // 0.5.11
        Rule::new("kv_used_tokens", Signal::Used),
        // the larger count of the full and the sliding-window pool, where there are two
        Rule::new("num_used_tokens", Signal::MixedUsed),
        Rule::new("kv_available_tokens", Signal::Available),
        Rule::new("kv_evictable_tokens", Signal::Evictable),
        // 0.5.10; never rounded
        Rule::new("full_token_usage", Signal::FullRatio),
        // 0.5.2 and 0.5.5; 0 on models without such a pool
        Rule::new("swa_token_usage", Signal::SwaRatio),
        Rule::new("mamba_usage", Signal::MambaRatio),
        // the fullest pool, and rounded to 2 decimals, since 0.5.11
        Rule::new("token_usage", Signal::HeadlineRatio),
        // 0.5.23; pending_prealloc_token_usage (0.5.4) is never set by the engine
        Rule::new("prealloc_full_token_usage", Signal::PreallocRatio),
        Rule::new("num_running_reqs", Signal::Running),
        Rule::new("num_queue_reqs", Signal::Waiting),
        Rule::new("num_grammar_queue_reqs", Signal::GrammarWaiting),
        // renamed in 0.5.12
        Rule::new("num_prefill_bootstrap_queue_reqs", Signal::PrefillBootstrap),
        Rule::new("num_prefill_prealloc_queue_reqs", Signal::PrefillBootstrap),
        // the second spelling up to 0.5.1
        Rule::new("num_prefill_inflight_queue_reqs", Signal::PrefillInflight),
        Rule::new("num_prefill_infight_queue_reqs", Signal::PrefillInflight),
        Rule::new("num_decode_prealloc_queue_reqs", Signal::DecodePrealloc),
        Rule::new("num_decode_transfer_queue_reqs", Signal::DecodeTransfer),
        // 0.5.10, with HiCache
        Rule::new("hicache_host_used_tokens", Signal::HostUsed),
        Rule::new("hicache_host_total_tokens", Signal::HostCapacity),
        Rule::new("gen_throughput", Signal::GenerationRate),
        // 0.5.2 to 0.5.9; histograms of the same names since
        Rule::new("kv_transfer_speed_gb_s", Signal::TransferSpeed).scaled(GB),
        Rule::new("kv_transfer_latency_ms", Signal::TransferTime).scaled(MS),
    ],
    counters: &[
        // 0.5.18; its modes are input (computed) and the hits
        CounterRule::new("prefill_effective_tokens_total", Counter::LookedUp),
        CounterRule::new("prefill_effective_tokens_total", Counter::Found)
            .only("mode", "device_hit"),
        CounterRule::new("prefill_effective_tokens_total", Counter::Found).only("mode", "host_hit"),
        CounterRule::new("prefill_effective_tokens_total", Counter::Found)
            .only("mode", "storage_hit"),
        CounterRule::new("realtime_tokens_total", Counter::Batched).only("mode", "prefill_compute"),
        CounterRule::new("realtime_tokens_total", Counter::Batched).only("mode", "prefill_cache"),
        CounterRule::new("realtime_tokens_total", Counter::BatchedFound)
            .only("mode", "prefill_cache"),
        CounterRule::new("prompt_tokens_total", Counter::Finished),
        CounterRule::new("cached_tokens_total", Counter::FinishedFound),
        // 0.5.10
        CounterRule::new("kv_transfer_speed_gb_s_sum", Counter::Speed).scaled(GB),
        CounterRule::new("kv_transfer_speed_gb_s_count", Counter::SpeedWeight),
        CounterRule::new("kv_transfer_latency_ms_sum", Counter::Time).scaled(MS),
        CounterRule::new("kv_transfer_latency_ms_count", Counter::TimeWeight),
        // 0.5.8
        CounterRule::new("num_retracted_requests_total", Counter::Preemptions),
        CounterRule::new("num_transfer_failed_reqs_total", Counter::TransferFailures),
    ],
};
