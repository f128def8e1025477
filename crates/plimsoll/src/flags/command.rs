//! The commands, and the flags of the small ones.

use std::path::Path;

use clap::{ArgAction, Args, Parser};
use plimsoll_wire::{Engine, Role};

use super::{
    place::Given,
    secret::Secret,
    table::{Flags, at_least, within},
    worker::{WorkerError, base_url},
};

/// What the user asks for.
#[derive(Debug)]
pub(crate) enum Command {
    /// Run the router.
    Launch(Box<Launch>),
    /// Show everything in one process.
    Demo(Demo),
    /// Run one simulated engine.
    Sim(Sim),
    /// Show how full KV caches are.
    Kv(Kv),
    /// Check each of these configurations, and the workers that it names.
    Check(Vec<Launch>),
    /// Print this text to standard output: help or version.
    Print(String),
}

/// What was written for the router.
#[derive(Debug)]
pub(crate) struct Launch {
    /// Each flag's value, or its default.
    pub(crate) flags: Flags,
    /// Which of them were set, and where.
    pub(crate) given: Given,
}

// === impl Launch ===

impl Launch {
    /// The file of `--config`, if one is named anywhere.
    pub(crate) fn config(&self) -> Option<&Path> {
        self.flags.logs.config.as_deref()
    }
}

/// `-h` and `--help`, which print the same.
#[derive(Debug, Args)]
pub(super) struct Help {
    /// Print this help
    #[arg(short = 'h', long = "help", action = ArgAction::HelpShort)]
    _help: Option<bool>,
}

/// Router, two simulated engines and a small load in one process; no GPU.
#[derive(Debug, Parser)]
#[command(
    name = "plimsoll demo",
    no_binary_name = true,
    args_override_self = true,
    disable_help_flag = true
)]
pub(crate) struct Demo {
    /// Send N requests, print what was counted, and end
    #[arg(long, value_name = "N", value_parser = at_least(1_u64))]
    pub(crate) requests: Option<u64>,

    /// Port for clients; 0 takes any free one
    #[arg(long, default_value_t = 30001, value_parser = within(0..=u16::MAX))]
    pub(crate) port: u16,

    /// Port for metrics and the dashboard; 0 takes any free one
    #[arg(long, value_name = "PORT", default_value_t = 29001, value_parser = within(0..=u16::MAX))]
    pub(crate) prometheus_port: u16,

    #[command(flatten)]
    _help: Help,
}

/// One simulated engine.
#[derive(Debug, Parser)]
#[command(
    name = "plimsoll sim",
    no_binary_name = true,
    args_override_self = true,
    disable_help_flag = true
)]
pub(crate) struct Sim {
    /// Part it plays
    #[arg(long, value_name = "prefill|decode|plain")]
    pub(crate) role: Role,

    /// Port to listen on; 0 takes any free one
    #[arg(long, value_parser = within(0..=u16::MAX))]
    pub(crate) port: u16,

    /// Address to listen on
    #[arg(long, default_value = "127.0.0.1")]
    pub(crate) host: String,

    /// Engine it resembles
    #[arg(long, value_name = "sglang|vllm", default_value_t = Engine::Sglang)]
    pub(crate) engine: Engine,

    /// Model it serves
    #[arg(long, value_name = "NAME", default_value = "plimsoll-sim")]
    pub(crate) model: String,

    /// Port for the hand-over: a prefill engine's own, with vLLM its NIXL side channel (any free
    /// one if left out), or the one an SGLang decode engine takes when a request names none (8998
    /// if left out)
    #[arg(long, value_name = "PORT", value_parser = within(1..=u16::MAX))]
    pub(crate) bootstrap_port: Option<u16>,

    /// Size of its KV cache, in tokens
    #[arg(long, value_name = "N", default_value_t = 100_000, value_parser = at_least(1_u64))]
    pub(crate) capacity_tokens: u64,

    /// Tensor-parallel ranks, with SGLang each with metrics of its own
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least(1_u32))]
    pub(crate) tp: u32,

    /// Data-parallel ranks, each with a KV cache of its own
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = within(1..=1024_u32))]
    pub(crate) dp: u32,

    /// Time a prompt takes, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 0, value_parser = within(0..=60_000_u64))]
    pub(crate) time_to_first_token_ms: u64,

    /// Time between tokens, in milliseconds
    #[arg(long, value_name = "MS", default_value_t = 20, value_parser = within(0..=60_000_u64))]
    pub(crate) token_interval_ms: u64,

    /// Tell in each answer how many prompt tokens were found in the prefix cache
    #[arg(long)]
    pub(crate) cache_report: bool,

    /// Serve no metrics, as an SGLang engine started without its metrics flag, or vLLM with its
    /// statistics off
    #[arg(long)]
    pub(crate) no_metrics: bool,

    #[command(flatten)]
    _help: Help,
}

/// Where a router on this machine has its metrics, if it was not told otherwise.
pub(crate) const ROUTER: &str = "http://127.0.0.1:29001";

/// One look at how full KV caches are: of engines, or of all workers of a running router.
#[derive(Debug, Parser)]
#[command(
    name = "plimsoll kv",
    no_binary_name = true,
    args_override_self = true,
    disable_help_flag = true
)]
pub(crate) struct Kv {
    /// Base URL of an engine, or a router's metrics address
    #[arg(value_name = "TARGET", default_value = ROUTER, value_parser = target)]
    pub(crate) targets: Vec<String>,

    /// Print JSON, as the router's GET /kv has it
    #[arg(long)]
    pub(crate) json: bool,

    /// Look again every SECS seconds
    #[arg(long, value_name = "SECS", value_parser = within(0.1..=86_400.0))]
    pub(crate) watch: Option<f64>,

    /// Key for the engines
    #[arg(long, value_name = "KEY")]
    pub(crate) worker_api_key: Option<Secret>,

    #[cfg(feature = "tls")]
    #[command(flatten)]
    pub(super) trust: Trust,

    #[command(flatten)]
    _help: Help,
}

/// How https:// targets are reached: the router's flags, but that each file has a flag of its own,
/// so that targets may follow.
#[cfg(feature = "tls")]
#[derive(Debug, Args)]
pub(crate) struct Trust {
    /// Issuer (PEM) that https:// targets are trusted by (repeatable)
    #[arg(long, value_name = "FILE")]
    pub(crate) ca_cert_paths: Vec<std::path::PathBuf>,

    /// Certificate (PEM) for targets that ask for one
    #[arg(long, value_name = "FILE")]
    pub(crate) client_cert_path: Option<std::path::PathBuf>,

    /// Private key (PEM) of --client-cert-path
    #[arg(long, value_name = "FILE")]
    pub(crate) client_key_path: Option<std::path::PathBuf>,
}

/// Reads a base URL whose scheme may be left out, and that may be the address of a page.
fn target(text: &str) -> Result<String, WorkerError> {
    let page = text.trim_end_matches('/');
    let base = page.strip_suffix("/metrics").or(page.strip_suffix("/kv")).unwrap_or(text);
    if base.contains("://") { base_url(base) } else { base_url(&format!("http://{base}")) }
}
