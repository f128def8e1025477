//! llama.cpp's server with `--metrics`. It has no labels, and since May 2025 no KV gauges.

use super::{Dialect, Rule, Signal};

pub(super) static DIALECT: Dialect = Dialect {
    engine: "llamacpp",
    prefixes: &["llamacpp:", "llamacpp_"],
    rank_label: "rank",
    rules: &[
        // both gone since its pull request 13660; n_tokens_max is a high-water mark, not use
        Rule::new("kv_cache_usage_ratio", Signal::FullRatio),
        Rule::new("kv_cache_tokens", Signal::Used),
        Rule::new("requests_processing", Signal::Running),
        Rule::new("requests_deferred", Signal::Waiting),
    ],
    counters: &[],
};
