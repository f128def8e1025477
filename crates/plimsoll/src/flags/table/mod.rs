//! The table: everything a user may write for the router, each flag once.
//!
//! A field's type, `value_parser` and default are the flag's form, range and default; its doc
//! comment is its line in `--help`. Flags of the SGLang router keep that router's spelling and
//! number of values. What [`refused()`] names is known and turned away.

mod choices;
mod compat;
#[cfg(feature = "kubernetes")]
mod discovery;
mod number;
mod operation;
mod refused;
mod resilience;
mod serving;
#[cfg(feature = "tls")]
mod tls;

use clap::{Arg, ArgAction, Args, Command, Parser};

pub(crate) use self::{
    choices::{Backend, Engine, HistoryBackend, LogLevel, OnDisconnect, Policy, StreamUsage},
    compat::{Compat, NoEffect},
    number::{at_least, within},
    operation::{Health, Leaving, Logs, Metering, Scraping},
    refused::refused,
    resilience::{Failures, Load},
    serving::{Listeners, Policies, Requests, Workers},
};

#[cfg(feature = "kubernetes")]
pub(crate) use self::discovery::Discovery;
#[cfg(feature = "tls")]
pub(crate) use self::tls::Tls;
use super::command::Help;

/// The longest time a flag takes, in seconds: one year, so that sums of times never overflow.
pub(crate) const YEAR_SECS: u64 = 365 * 24 * 60 * 60;

/// The longest interval in milliseconds: one day.
pub(crate) const DAY_MS: u64 = 24 * 60 * 60 * 1000;

/// Routes OpenAI traffic to prefill/decode or plain LLM engines, and counts its tokens.
#[derive(Debug, Parser)]
#[command(
    name = "plimsoll",
    version,
    no_binary_name = true,
    args_override_self = true,
    disable_help_flag = true,
    override_usage = "plimsoll [launch] FLAGS",
    after_help = "Commands:\n  \
        launch  Run the router (may be left out)\n  \
        demo    Router, two simulated engines and a small load in one process; no GPU\n  \
        sim     One simulated engine\n  \
        kv      How full the KV caches are, of engines or of a running router\n  \
        check   Whether flags and workers are as they should be\n\
        \n\
        Each flag can also be set in --config FILE (`port = 30001`) and in the environment\n\
        (PLIMSOLL_PORT=30001; lists by spaces): defaults < file < environment < flags.",
    max_term_width = 110
)]
pub(crate) struct Flags {
    #[command(flatten)]
    _help: Help,
    #[command(flatten)]
    pub(super) workers: Workers,
    #[cfg(feature = "kubernetes")]
    #[command(flatten)]
    pub(super) discovery: Discovery,
    #[command(flatten)]
    pub(super) listeners: Listeners,
    #[cfg(feature = "tls")]
    #[command(flatten)]
    pub(super) tls: Tls,
    #[command(flatten)]
    pub(super) policies: Policies,
    #[command(flatten)]
    pub(super) requests: Requests,
    #[command(flatten)]
    pub(super) load: Load,
    #[command(flatten)]
    pub(super) failures: Failures,
    #[command(flatten)]
    pub(super) health: Health,
    #[command(flatten)]
    pub(super) scraping: Scraping,
    #[command(flatten)]
    pub(super) metering: Metering,
    #[command(flatten)]
    pub(super) leaving: Leaving,
    #[command(flatten)]
    pub(super) logs: Logs,
    #[command(flatten)]
    pub(super) compat: Compat,
    #[command(flatten)]
    _no_effect: NoEffect,
}

/// The flags of one group of the table, without dashes.
pub(super) fn names<G: Args>() -> Vec<String> {
    G::augment_args(Command::new(""))
        .get_arguments()
        .filter_map(|argument| argument.get_long().map(str::to_owned))
        .collect()
}

/// The flag `name` (without dashes) of the router's `command`, if it can be set in a file or in the
/// environment too; help and version cannot.
pub(super) fn find<'a>(command: &'a Command, name: &str) -> Option<&'a Arg> {
    command.get_arguments().find(|argument| {
        let is_setting = matches!(
            argument.get_action(),
            ArgAction::Set | ArgAction::Append | ArgAction::SetTrue
        );
        is_setting && argument.get_long() == Some(name)
    })
}
