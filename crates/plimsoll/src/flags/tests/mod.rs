mod contract;
mod errors;
mod forms;
mod looks;
mod metering;
#[cfg(feature = "kubernetes")]
mod pods;
mod precedence;
mod readings;
mod refused;
mod routing;
mod secrets;
mod topology;
mod warnings;

use std::{
    env::temp_dir,
    ffi::OsString,
    fs,
    path::{Path, PathBuf},
    process,
    sync::atomic::{AtomicU32, Ordering},
};

use super::{Command, Launch, Settings, UsageError, parse, resolve};

/// A worker, for lines that are about something else.
const WORKER: &str = "--worker-urls http://w:1";

/// Reads a line of words by spaces, in an environment of `NAME=VALUE`.
fn command(line: &str, environment: &[&str]) -> Result<Command, UsageError> {
    let words = line.split_whitespace().map(OsString::from);
    let variables = environment.iter().map(|variable| {
        let (name, value) = variable.split_once('=').unwrap();
        (name.into(), value.into())
    });
    parse(words, variables)
}

fn launch_in(line: &str, environment: &[&str]) -> Result<Launch, UsageError> {
    match command(line, environment)? {
        Command::Launch(launch) => Ok(*launch),
        other => panic!("{other:?}"),
    }
}

fn settings_in(line: &str, environment: &[&str]) -> Result<Settings, UsageError> {
    resolve(&launch_in(line, environment)?)
}

fn settings(line: &str) -> Settings {
    settings_in(line, &[]).unwrap_or_else(|error| panic!("{line}: {error}"))
}

/// The one line that says what is wrong.
fn error_in(line: &str, environment: &[&str]) -> String {
    let error = match settings_in(line, environment) {
        Ok(settings) => panic!("{line}: {settings:?}"),
        Err(error) => error.to_string(),
    };
    assert_eq!(error.lines().count(), 1, "{error}");
    error
}

fn error(line: &str) -> String {
    error_in(line, &[])
}

/// A configuration file that goes away with the test.
struct Config(PathBuf);

impl Config {
    fn new(text: &str) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = temp_dir().join(format!("plimsoll-flags-{}-{number}.toml", process::id()));
        fs::write(&path, text).unwrap();
        Self(path)
    }

    fn path(&self) -> &Path {
        &self.0
    }

    /// The line with the file named at its end.
    fn after(&self, line: &str) -> String {
        format!("{line} --config {}", self.0.display())
    }
}

impl Drop for Config {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}
