//! A Dynamo worker's own gauges, by its list of names (04070c75); older releases have others
//! (`kvstats_…`). It passes its engine's metrics on beside them, under their names.

use super::{Dialect, Rule, Signal};

pub(super) static DIALECT: Dialect = Dialect {
    engine: "dynamo",
    prefixes: &["dynamo_component_"],
    rank_label: "dp_rank",
    rules: &[
        // "percent" is a ratio
        Rule::new("gpu_cache_usage_percent", Signal::FullRatio),
        Rule::new("total_blocks", Signal::Blocks),
    ],
    counters: &[],
};
