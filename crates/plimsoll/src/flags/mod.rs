//! The command line: what the user wrote ([`Flags`]) and what the program runs on ([`Settings`]).
//!
//! [`parse()`] reads the command line, the `PLIMSOLL_*` environment and the `--config` file against
//! one table ([`table`]), where each flag stands once with its form, default, range and help line.
//! [`resolve()`] checks how the flags go together and returns plain data. Whatever is wrong is a
//! [`UsageError`], whose text is one line and never holds a key.

mod command;
mod config;
mod environment;
mod error;
mod layer;
mod parse;
mod place;
#[cfg(feature = "kubernetes")]
mod pods;
mod resolve;
mod secret;
mod settings;
mod syntax;
mod table;
mod worker;

#[cfg(test)]
mod tests;

#[cfg(feature = "kubernetes")]
pub(crate) use self::pods::Pods;
pub(crate) use self::{
    command::{Command, Demo, Kv, Launch, ROUTER, Sim},
    error::UsageError,
    parse::parse,
    resolve::{kv_upstream, resolve},
    secret::Secret,
    settings::{Listen, Readings, Settings, Topology, UsageLogPlace, WorkerName},
    table::{Flags, LogLevel, StreamUsage},
};
