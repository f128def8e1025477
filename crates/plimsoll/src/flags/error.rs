//! What can be wrong with what the user wrote.

use std::{io, path::PathBuf};

use plimsoll::CredentialHeader;
use plimsoll_router::AddressError;

#[cfg(feature = "kubernetes")]
use super::pods::PodsError;
use super::{place::Place, secret::without_user_info, syntax::Syntax, worker::WorkerError};

/// What is said to someone who gives nothing at all.
const NEEDED: &str = "nothing to do: name the engines to route to

  plimsoll --pd-disaggregation --prefill http://HOST:PORT [BOOTSTRAP_PORT] --decode http://HOST:PORT
  plimsoll --worker-urls http://HOST:PORT ...

`plimsoll demo` shows it without any engine, `plimsoll --help` lists all flags.";

/// Why the program does not start. One line each (but for [`UsageError::Nothing`]), without keys;
/// the exit code is 2.
#[derive(Debug, thiserror::Error)]
pub(crate) enum UsageError {
    /// No argument, no variable.
    #[error("{NEEDED}")]
    Nothing,
    /// The first word is no command.
    #[error("there is no command {0:?}; there are launch, demo, sim, kv and check")]
    NoSuchCommand(String),
    /// An argument or a variable is not UTF-8.
    #[error("{0} is not valid UTF-8")]
    NotText(String),
    /// The command line does not fit the table.
    #[error(transparent)]
    Syntax(#[from] Syntax),
    /// A variable, or a key of the file, does not fit the table.
    #[error("{place}: {source}")]
    SyntaxAt {
        /// Where it stands.
        place: Place,
        /// What does not fit.
        source: Syntax,
    },
    /// The file of `--config` cannot be read.
    #[error("{place}: cannot read {path:?}: {source}")]
    ConfigUnreadable {
        /// Where the file was named.
        place: Place,
        /// The file.
        path: PathBuf,
        /// The system's reason.
        source: io::Error,
    },
    /// The file of `--config` is not TOML.
    #[error("{}:{line}: {message}", path.display())]
    ConfigSyntax {
        /// The file.
        path: PathBuf,
        /// Line, from 1.
        line: usize,
        /// The parser's reason, in one line.
        message: String,
    },
    /// A flag has a value that cannot be used, or does not go with the others.
    #[error("{place}: {}", without_user_info(&problem.to_string()))]
    Flag {
        /// Where it was set.
        place: Place,
        /// What is wrong with it.
        problem: Problem,
    },
}

/// What is wrong with a flag that is known and well formed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Problem {
    /// The flag is known and turned away.
    #[error("{0}")]
    Refused(&'static str),
    /// A file beside those that `check` was given.
    #[error("names a file where files stand already; put it among them: plimsoll check FILE...")]
    FileBesideFiles,
    /// No workers at all.
    #[error(
        "no workers: give --worker-urls URL..., or --pd-disaggregation with --prefill URL and \
         --decode URL"
    )]
    NoWorkers,
    /// A prefill or decode worker without the mode.
    #[error("needs --pd-disaggregation; for engines that do both, use --worker-urls")]
    NeedsPd,
    /// Plain workers in the mode for pairs.
    #[error("does not go with --pd-disaggregation; name workers by --prefill and --decode")]
    PlainInPd,
    /// One of the two roles has no worker.
    #[error("needs at least one {0}")]
    MissingRole(&'static str),
    /// A bootstrap port where only prefill has one.
    #[error("takes NAME:PORT only; bootstrap ports are those of prefill engines")]
    NoBootstrapPort,
    /// Which pods are workers.
    #[cfg(feature = "kubernetes")]
    #[error(transparent)]
    Pods(#[from] PodsError),
    /// Files of certificates and keys.
    #[cfg(feature = "tls")]
    #[error(transparent)]
    Tls(#[from] crate::tls::TlsError),
    /// A worker's URL or bootstrap port.
    #[error(transparent)]
    Worker(#[from] WorkerError),
    /// A worker's URL.
    #[error(transparent)]
    Address(#[from] AddressError),
    /// Not a worker and its page.
    #[error("{0:?} names no page; expected http://HOST[:PORT]=http://HOST[:PORT]/PATH")]
    WorkerMetrics(String),
    /// A page of a worker that there is not.
    #[error("{0} is no worker; name it by --prefill, --decode or --worker-urls too")]
    NoSuchWorker(String),
    /// The same worker twice.
    #[error("{0} is named twice; name each worker once, in one role")]
    Twice(String),
    /// Both listeners on one port.
    #[error("{0} is taken by --port; choose another, or 0 for any free one")]
    PortClash(u16),
    /// Not an address to listen on.
    #[error("{0:?} is no address; expected an IP address such as 0.0.0.0 or ::, or a host name")]
    Host(String),
    /// A key that no header can carry.
    #[error("the key must be 1 or more visible ASCII characters, without spaces")]
    Key,
    /// Not a header name.
    #[error("{0:?} is no header name; expected one such as x-request-id")]
    Header(String),
    /// A header that carries keys, where a name is to be read.
    #[error(transparent)]
    Credentials(#[from] CredentialHeader),
    /// An empty path.
    #[error("names no file; expected a path, or - for standard output")]
    NoPath,
    /// Not a path to probe.
    #[error("{0:?} is no path; expected one such as /health")]
    Path(String),
    /// Bucket bounds out of order.
    #[error("bounds must rise; {1} comes after {0}")]
    Buckets(f64, f64),
    /// Not an origin.
    #[error("{0:?} is no origin; expected * or SCHEME://HOST[:PORT]")]
    Origin(String),
}
