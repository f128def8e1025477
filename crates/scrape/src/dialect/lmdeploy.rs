//! LMDeploy as of August 2026, by its sources (1263d5cd). Its metrics are on by default.

use super::{Dialect, Rule, Signal};

pub(super) static DIALECT: Dialect = Dialect {
    engine: "lmdeploy",
    prefixes: &["lmdeploy:", "lmdeploy_"],
    rank_label: "engine",
    rules: &[
        // "perc" is a ratio
        Rule::new("gpu_cache_usage_perc", Signal::FullRatio),
        Rule::new("num_requests_running", Signal::Running),
        Rule::new("num_requests_waiting", Signal::Waiting),
    ],
    counters: &[],
};
