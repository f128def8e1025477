//! The engines' own names, one file an engine.
//!
//! A dialect is data: which prefixes its names have, which label tells its data ranks apart, and
//! which name means which [`Signal`]. Of several names for one signal the first that a page has is
//! the one that counts. Adding an engine means adding a file, and its name to [`ALL`].

mod dynamo;
mod llamacpp;
mod lmdeploy;
mod sglang;
mod tgi;
mod trtllm;
mod vllm;

use crate::{
    counters::{Counter, CounterRule},
    signal::Signal,
};

/// One engine's names.
#[derive(Debug)]
pub(crate) struct Dialect {
    /// The engine, as in the `engine` label.
    pub(crate) engine: &'static str,
    /// What its names start with. Re-exporters that know no colons write `sglang_` for `sglang:`.
    prefixes: &'static [&'static str],
    /// The label that tells data ranks apart.
    pub(crate) rank_label: &'static str,
    /// The preferred names first.
    rules: &'static [Rule],
    /// What it counts since its start.
    counters: &'static [CounterRule],
}

/// One name, without the prefix, and what it means.
#[derive(Debug)]
pub(crate) struct Rule {
    name: &'static str,
    pub(crate) signal: Signal,
    pub(crate) value: Value,
    /// To the unit of the signal.
    pub(crate) scale: f64,
}

/// Where a sample keeps its value.
#[derive(Debug)]
pub(crate) enum Value {
    /// Where it belongs.
    Sample,
    /// In a label: the sample itself is 1.
    Label(&'static str),
    /// Where it belongs, on the one series that has this label.
    Where(&'static str, &'static str),
}

/// Every dialect.
const ALL: [&Dialect; 7] = [
    &sglang::DIALECT,
    &vllm::DIALECT,
    &trtllm::DIALECT,
    &lmdeploy::DIALECT,
    &llamacpp::DIALECT,
    &tgi::DIALECT,
    &dynamo::DIALECT,
];

// === impl Dialect ===

impl Dialect {
    /// The dialect of a name and its rules, each with its place in the order of preference.
    pub(crate) fn find(name: &str) -> Option<(&'static Self, &str)> {
        // most lines of a page, and none of them means anything here
        if name.ends_with("_bucket") {
            return None;
        }
        ALL.into_iter().find_map(|dialect| {
            let bare = dialect.prefixes.iter().find_map(|prefix| name.strip_prefix(prefix))?;
            let known = dialect.rules.iter().any(|rule| rule.name == bare)
                || dialect.counters.iter().any(|rule| rule.name == bare);
            known.then_some((dialect, bare))
        })
    }

    /// The rules of a bare name, each with its place in the order of preference.
    pub(crate) fn rules(&self, bare: &str) -> impl Iterator<Item = (usize, &'static Rule)> {
        self.rules.iter().enumerate().filter(move |(_, rule)| rule.name == bare)
    }

    /// What a bare name counts.
    pub(crate) fn counters(&self, bare: &str) -> impl Iterator<Item = &'static CounterRule> {
        self.counters.iter().filter(move |rule| rule.name == bare)
    }
}

// === impl Rule ===

impl Rule {
    const fn new(name: &'static str, signal: Signal) -> Self {
        Self { name, signal, value: Value::Sample, scale: 1.0 }
    }

    const fn scaled(self, scale: f64) -> Self {
        Self { scale, ..self }
    }

    const fn label(name: &'static str, label: &'static str, signal: Signal) -> Self {
        Self { name, signal, value: Value::Label(label), scale: 1.0 }
    }

    const fn labelled(
        name: &'static str,
        label: (&'static str, &'static str),
        signal: Signal,
    ) -> Self {
        Self { name, signal, value: Value::Where(label.0, label.1), scale: 1.0 }
    }
}
