//! Text Generation Inference as of January 2026, by its sources (db931fcf). It says what it may hold
//! and what requests reserve, not what is used.

use super::{Dialect, Rule, Signal};

pub(super) static DIALECT: Dialect = Dialect {
    engine: "tgi",
    prefixes: &["tgi_"],
    rank_label: "rank",
    rules: &[
        Rule::new("batch_max_total_tokens", Signal::Capacity),
        Rule::new("batch_current_size", Signal::Running),
        Rule::new("queue_size", Signal::Waiting),
    ],
    counters: &[],
};
