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

use crate::signal::Signal;

/// One engine's names.
#[derive(Debug)]
pub struct Dialect {
    /// The engine, as in the `engine` label.
    pub engine: &'static str,
    /// What its names start with. Re-exporters that know no colons write `sglang_` for `sglang:`.
    prefixes: &'static [&'static str],
    /// The label that tells data ranks apart.
    pub(crate) rank_label: &'static str,
    /// The preferred names first.
    rules: &'static [Rule],
}

/// One name, without the prefix, and what it means.
#[derive(Debug)]
pub(crate) struct Rule {
    name: &'static str,
    pub(crate) signal: Signal,
    pub(crate) value: Value,
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
pub const ALL: [&Dialect; 7] = [
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
        ALL.into_iter().find_map(|dialect| {
            let bare = dialect.prefixes.iter().find_map(|prefix| name.strip_prefix(prefix))?;
            dialect.rules.iter().any(|rule| rule.name == bare).then_some((dialect, bare))
        })
    }

    /// The rules of a bare name, each with its place in the order of preference.
    pub(crate) fn rules(&self, bare: &str) -> impl Iterator<Item = (usize, &'static Rule)> {
        self.rules.iter().enumerate().filter(move |(_, rule)| rule.name == bare)
    }
}

// === impl Rule ===

impl Rule {
    const fn new(name: &'static str, signal: Signal) -> Self {
        Self { name, signal, value: Value::Sample }
    }

    const fn label(name: &'static str, label: &'static str, signal: Signal) -> Self {
        Self { name, signal, value: Value::Label(label) }
    }

    const fn labelled(
        name: &'static str,
        label: (&'static str, &'static str),
        signal: Signal,
    ) -> Self {
        Self { name, signal, value: Value::Where(label.0, label.1) }
    }
}
