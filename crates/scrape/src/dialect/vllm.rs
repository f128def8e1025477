//! vLLM, the V0 engine (to 0.10) and the V1 engine, by the loggers of its wheels.

use super::{Counter, CounterRule, Dialect, Rule, Signal};

pub(super) static DIALECT: Dialect = Dialect {
    engine: "vllm",
    prefixes: &["vllm:", "vllm_"],
    rank_label: "engine",
    rules: &[
        // V1; "perc" is a ratio, and free blocks that are still cached count as free
        Rule::new("kv_cache_usage_perc", Signal::HeadlineRatio),
        // V0, and for a while beside the new name
        Rule::new("gpu_cache_usage_perc", Signal::HeadlineRatio),
        // since 0.33 one engine's tokens, right for hybrid models too; "None" where not known
        Rule::label("cache_config_info", "kv_cache_size_tokens", Signal::Capacity),
        Rule::label("cache_config_info", "block_size", Signal::BlockTokens),
        // summed over the data ranks, and repeated by each
        Rule::label("cache_config_info", "num_gpu_blocks", Signal::BlocksOfAllRanks),
        Rule::labelled("engine_sleep_state", ("sleep_state", "awake"), Signal::Awake),
        Rule::new("num_requests_running", Signal::Running),
        // the whole: num_requests_waiting_by_reason are its parts
        Rule::new("num_requests_waiting", Signal::Waiting),
    ],
    counters: &[
        CounterRule::new("prefix_cache_queries_total", Counter::LookedUp),
        CounterRule::new("prefix_cache_hits_total", Counter::Found),
        CounterRule::new("nixl_bytes_transferred_sum", Counter::Speed),
        CounterRule::new("nixl_xfer_time_seconds_sum", Counter::SpeedWeight),
        CounterRule::new("nixl_xfer_time_seconds_sum", Counter::Time),
        CounterRule::new("nixl_xfer_time_seconds_count", Counter::TimeWeight),
        CounterRule::new("num_preemptions_total", Counter::Preemptions),
        CounterRule::new("nixl_num_failed_transfers_total", Counter::TransferFailures),
    ],
};
