//! Logs: for people, on standard error, and on request in daily files.

use std::{
    io,
    path::{Path, PathBuf},
};

use tracing::{level_filters::LevelFilter, subscriber::SetGlobalDefaultError};
use tracing_appender::{
    non_blocking::WorkerGuard,
    rolling::{InitError, RollingFileAppender, Rotation},
};
use tracing_subscriber::{Registry, filter::Targets, fmt, layer::SubscriberExt, registry, reload};

use crate::{flags::LogLevel, output};

/// Why nothing is logged.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LogError {
    /// The directory cannot be made or written to.
    #[error("--log-dir: cannot write log files into {dir:?}: {source}")]
    Dir {
        /// The directory.
        dir: PathBuf,
        /// The system's reason.
        source: InitError,
    },
    /// Something else in the process logs already.
    #[error("logs are set up already")]
    Twice(#[from] SetGlobalDefaultError),
}

/// The logs of the process. Dropping them writes what is left.
#[derive(Debug)]
pub(crate) struct Logs {
    level: reload::Handle<Targets, Registry>,
    _file: Option<WorkerGuard>,
}

/// Starts logging at `level` to standard error, and to `plimsoll.YYYY-MM-DD.log` in `dir`. Lines for
/// the file are written by a thread of their own.
pub(crate) fn start(level: LogLevel, dir: Option<&Path>) -> Result<Logs, LogError> {
    let (file, guard) = match dir {
        Some(dir) => {
            let (writer, guard) = tracing_appender::non_blocking(daily(dir)?);
            (Some(fmt::layer().with_ansi(false).with_writer(writer)), Some(guard))
        }
        None => (None, None),
    };
    let is_coloured = output::takes_colour(&io::stderr());
    let terminal = fmt::layer().with_ansi(is_coloured).with_writer(io::stderr);
    // The file's layer formats span fields first, so that no colour gets into the file.
    let (level, handle) = reload::Layer::new(filter(level));
    let subscriber = registry().with(level).with(file).with(terminal);
    tracing::subscriber::set_global_default(subscriber)?;
    Ok(Logs { level: handle, _file: guard })
}

// === impl Logs ===

impl Logs {
    /// From here on only what is at least so severe is logged.
    pub(crate) fn set_level(&self, level: LogLevel) {
        // It fails only where nothing logs any more.
        let _ = self.level.reload(filter(level));
    }
}

fn daily(dir: &Path) -> Result<RollingFileAppender, LogError> {
    RollingFileAppender::builder()
        .rotation(Rotation::DAILY)
        .filename_prefix("plimsoll")
        .filename_suffix("log")
        .build(dir)
        .map_err(|source| LogError::Dir { dir: dir.to_owned(), source })
}

/// Of the libraries below only warnings are wanted, until everything is: theirs would hide ours.
fn filter(level: LogLevel) -> Targets {
    let ours = match level {
        LogLevel::Trace => LevelFilter::TRACE,
        LogLevel::Debug => LevelFilter::DEBUG,
        LogLevel::Info => LevelFilter::INFO,
        LogLevel::Warn => LevelFilter::WARN,
        LogLevel::Error => LevelFilter::ERROR,
    };
    let theirs = if ours == LevelFilter::TRACE { ours } else { ours.min(LevelFilter::WARN) };
    let targets = Targets::new().with_default(theirs).with_target("plimsoll", ours);
    // The client of Kubernetes has an error for each of its tries; those who try say what is wrong.
    if ours < LevelFilter::DEBUG {
        targets.with_target("kube_client", LevelFilter::OFF)
    } else {
        targets
    }
}
