//! SGLang 0.3.6 to 0.5.23, by the collectors of its wheels.

use super::{Dialect, Rule, Signal};

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
        Rule::new("num_used_tokens", Signal::Used),
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
    ],
};
