//! `plimsoll kv`: one look at how full KV caches are, or one after the other.

mod ask;
mod client;
mod look;
mod probe;
#[cfg(test)]
mod tests;

use std::{
    io::{self, IsTerminal, Write},
    process::ExitCode,
    time::Duration,
};

use plimsoll_scrape::Report;
use tokio::time::sleep;

use self::look::Looker;
pub(crate) use self::{
    client::Client,
    probe::{PATIENCE, Probe},
};
use crate::{
    flags::{Kv, ROUTER},
    output, serve,
    upstream::Upstream,
};

/// What moves a terminal's cursor to the top, and clears what is below.
const CLEAR: &str = "\x1b[H\x1b[J";

/// What to do where no router is.
const HELP: &str = "name its metrics address, or engines: plimsoll kv http://HOST:PORT...";

/// Looks, and says whether every target had a reading the last time.
pub(crate) fn run(flags: &Kv, upstream: &Upstream) -> io::Result<ExitCode> {
    serve::block_on(async {
        let mut looker = Looker::new(flags, upstream);
        loop {
            let (report, is_complete) = looker.look().await;
            if report.workers.iter().any(|worker| worker.worker == ROUTER) {
                eprintln!("plimsoll: no router answers at {ROUTER}; {HELP}");
            }
            match write(&report, flags) {
                // Nobody wants more.
                Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {}
                Err(error) => return Err(error),
                Ok(()) => {
                    if let Some(pause) = flags.watch {
                        sleep(Duration::from_secs_f64(pause)).await;
                        continue;
                    }
                }
            }
            return Ok(exit_code(is_complete));
        }
    })?
}

/// 0 if every worker has a reading, else 1.
pub(crate) fn exit_code(is_complete: bool) -> ExitCode {
    if is_complete { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn write(report: &Report, flags: &Kv) -> io::Result<()> {
    let mut out = io::stdout().lock();
    let is_terminal = out.is_terminal();
    match (flags.json, flags.watch) {
        (true, Some(_)) => writeln!(out, "{}", serde_json::to_string(report)?)?,
        (true, None) => writeln!(out, "{}", serde_json::to_string_pretty(report)?)?,
        (false, watch) => {
            if watch.is_some() {
                write!(out, "{}", if is_terminal { CLEAR } else { "\n" })?;
            }
            let is_coloured = output::takes_colour(&out);
            write!(out, "{}", report.table().coloured(is_coloured))?;
        }
    }
    out.flush()
}
