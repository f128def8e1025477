//! TensorRT-LLM's `trtllm-serve` after 1.1, by its sources, at `/prometheus/metrics` (its `/metrics` is
//! JSON). 1.1 has five metrics of requests there, without the prefix, and none of a KV cache.

use super::{Dialect, Rule, Signal};

pub(super) static DIALECT: Dialect = Dialect {
    engine: "trtllm",
    // Dynamo 0.7 wrote a colon
    prefixes: &["trtllm_", "trtllm:"],
    rank_label: "rank",
    rules: &[
        Rule::new("kv_cache_utilization", Signal::FullRatio),
        Rule::new("kv_cache_max_blocks", Signal::Blocks),
        Rule::new("kv_cache_used_blocks", Signal::UsedBlocks),
        Rule::new("kv_cache_tokens_per_block", Signal::BlockTokens),
        Rule::new("num_requests_running", Signal::Running),
        Rule::new("num_requests_waiting", Signal::Waiting),
    ],
    counters: &[],
};
