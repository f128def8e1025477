//! Flags of the SGLang router that mean nothing here, so that a line written for it works.

use clap::Args;

use super::choices::{Backend, HistoryBackend};

/// Accepted in silence: what they ask for is what happens anyway.
#[derive(Debug, Args)]
pub(crate) struct Compat {
    /// SGLang's own small balancer.
    #[arg(long = "mini-lb", hide = true)]
    _mini_lb: bool,

    /// Only `sglang` is accepted.
    #[arg(long, hide = true, value_enum)]
    pub(crate) backend: Option<Backend>,

    /// Only `none` and `memory` are accepted.
    #[arg(long, hide = true, value_enum)]
    pub(crate) history_backend: Option<HistoryBackend>,
}

/// Accepted with a warning each: without effect on HTTP traffic.
#[derive(Debug, Args)]
pub(crate) struct NoEffect {
    /// Model for the router's tokenizer.
    #[arg(long, hide = true)]
    model_path: Option<String>,

    /// The router's tokenizer.
    #[arg(long, hide = true)]
    tokenizer_path: Option<String>,

    /// The router's chat template.
    #[arg(long, hide = true)]
    chat_template: Option<String>,

    /// The router's parser of reasoning text.
    #[arg(long, hide = true)]
    reasoning_parser: Option<String>,

    /// The router's parser of tool calls.
    #[arg(long, hide = true)]
    tool_call_parser: Option<String>,

    /// First tokenizer cache.
    #[arg(long, hide = true)]
    tokenizer_cache_enable_l0: bool,

    /// Its size, in entries.
    #[arg(long, hide = true)]
    tokenizer_cache_l0_max_entries: Option<String>,

    /// Second tokenizer cache.
    #[arg(long, hide = true)]
    tokenizer_cache_enable_l1: bool,

    /// Its size, in bytes.
    #[arg(long, hide = true)]
    tokenizer_cache_l1_max_memory: Option<String>,
}
