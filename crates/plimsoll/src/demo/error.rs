//! What can go wrong in the demo.

use std::io;

use plimsoll_sim::SimError;
use tokio::task::JoinError;

use super::client::FetchError;
use crate::{logs::LogError, serve::ServeError};

/// Why the demo does not begin.
#[derive(Debug, thiserror::Error)]
pub(crate) enum StartError {
    /// A port of the router is taken.
    #[error(
        "cannot listen on {address}: {source}; choose another port with {flag}, 0 for any free one"
    )]
    Listen {
        /// Host and port.
        address: String,
        /// The flag that sets the port.
        flag: &'static str,
        /// The system's reason.
        source: io::Error,
    },
    /// The router does not start for another reason.
    #[error(transparent)]
    Serve(ServeError),
    /// An engine does not start.
    #[error("a simulated engine: {0}")]
    Engine(#[from] SimError),
    /// Logs cannot be set up.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A runtime or a signal handler does not work.
    #[error("cannot start: {0}")]
    Start(#[from] io::Error),
}

/// Why the demo does not end well.
#[derive(Debug, thiserror::Error)]
pub(super) enum RunError {
    /// The router broke down.
    #[error(transparent)]
    Serve(#[from] ServeError),
    /// The router finds no engines.
    #[error("the router was not ready after {0} s")]
    NotReady(u64),
    /// A request has no good reply.
    #[error("request {number} ({path}) failed: {source}")]
    Request {
        /// Which one, from 1.
        number: u64,
        /// Its route.
        path: &'static str,
        /// What came instead of a reply.
        source: FetchError,
    },
    /// A reply does not state the usage that was asked for.
    #[error("the reply to request {number} ({path}) states no usage")]
    NoUsage {
        /// Which one, from 1.
        number: u64,
        /// Its route.
        path: &'static str,
    },
    /// The metrics page cannot be read.
    #[error("the metrics page cannot be read: {0}")]
    Page(FetchError),
    /// What the demo is there to disprove.
    #[error("the metrics page differs from the replies: {0}")]
    Differs(String),
    /// A signal came first.
    #[error("stopped by a signal before all requests were answered")]
    Stopped,
    /// Signals cannot be waited for.
    #[error("cannot wait for signals: {0}")]
    Signals(io::Error),
    /// Standard output is closed.
    #[error("cannot print: {0}")]
    Print(io::Error),
    /// A client of the demo broke down.
    #[error("a client of the demo broke down: {0}")]
    Client(#[from] JoinError),
}
