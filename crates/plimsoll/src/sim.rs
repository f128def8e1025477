//! `plimsoll sim`: one simulated engine, until a signal ends it.

use std::{io, net::SocketAddr, time::Duration};

use plimsoll_sim::{SimConfig, SimEngine, SimError};
use plimsoll_wire::Engine;
use tokio::net;

use crate::{
    flags::{Listen, LogLevel, Sim},
    logs::{self, LogError},
    output,
    serve::{self, Signals},
};

/// Why no engine runs.
#[derive(Debug, thiserror::Error)]
pub(crate) enum RunError {
    /// The host names no address.
    #[error("--host {host:?} has no address: {source}")]
    Host {
        /// The host, as given.
        host: String,
        /// The system's reason.
        source: io::Error,
    },
    /// A port cannot be listened on.
    #[error("{source}; choose another with {flag}")]
    Listen {
        /// Which address, and the system's reason.
        source: SimError,
        /// The flag that sets it.
        flag: &'static str,
    },
    /// Logs cannot be set up.
    #[error(transparent)]
    Log(#[from] LogError),
    /// A runtime, a signal handler or standard output does not work.
    #[error("cannot start: {0}")]
    Start(#[from] io::Error),
}

/// Runs the engine and says where it listens.
pub(crate) fn run(flags: &Sim) -> Result<(), RunError> {
    let _guard = logs::start(LogLevel::Warn, None)?;
    serve::block_on(async {
        let mut signals = Signals::new()?;
        let engine = start(flags).await?;
        output::print(&format!("{}\n", introduction(&engine)))?;
        signals.next().await;
        engine.shutdown().await;
        Ok(())
    })?
}

async fn start(flags: &Sim) -> Result<SimEngine, RunError> {
    let addr = address(&flags.host, flags.port).await?;
    SimEngine::start(config(flags, addr)).await.map_err(|source| {
        let flag = match &source {
            SimError::Listen { addr: failed, .. } if *failed != addr => "--bootstrap-port",
            _ => "--port",
        };
        RunError::Listen { source, flag }
    })
}

async fn address(host: &str, port: u16) -> Result<SocketAddr, RunError> {
    let found = net::lookup_host((Listen::bare(host), port)).await.and_then(|mut addresses| {
        addresses.next().ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))
    });
    found.map_err(|source| RunError::Host { host: host.to_owned(), source })
}

fn config(flags: &Sim, addr: SocketAddr) -> SimConfig {
    SimConfig::default()
        .engine(flags.engine)
        .role(flags.role)
        .addr(addr)
        .bootstrap_port(flags.bootstrap_port.unwrap_or_default())
        .model(flags.model.clone())
        .capacity_tokens(flags.capacity_tokens)
        .tp(flags.tp)
        .dp(flags.dp)
        .metrics(!flags.no_metrics)
        .cache_report(flags.cache_report)
        .time_to_first_token(Duration::from_millis(flags.time_to_first_token_ms))
        .token_interval(Duration::from_millis(flags.token_interval_ms))
}

/// `prefill engine NAME on http://HOST:PORT, bootstrap port PORT`
fn introduction(engine: &SimEngine) -> String {
    let SimConfig { engine: kind, role, model, .. } = engine.config();
    let what = match kind {
        Engine::Sglang => "bootstrap port",
        Engine::Vllm => "NIXL side channel port",
    };
    let bootstrap = engine.bootstrap_port().map(|port| format!(", {what} {port}"));
    format!("{role} engine {model} on {}{}", engine.url(), bootstrap.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flags::{self, Command};

    fn flags(line: &str) -> Sim {
        match flags::parse(line.split(' ').map(Into::into), []) {
            Ok(Command::Sim(sim)) => sim,
            other => panic!("{other:?}"),
        }
    }

    #[tokio::test]
    async fn a_prefill_engine_says_where_it_and_its_bootstrap_server_are() {
        let engine = start(&flags("sim --role prefill --port 0 --model m --dp 2")).await.unwrap();
        let port = engine.bootstrap_port().unwrap();
        let want = format!("prefill engine m on {}, bootstrap port {port}", engine.url());
        assert_eq!(introduction(&engine), want);
        assert_eq!(engine.config().dp, 2);
        let engine = start(&flags("sim --role prefill --port 0 --engine vllm")).await.unwrap();
        assert_eq!(engine.config().engine, Engine::Vllm);
        assert!(introduction(&engine).contains(", NIXL side channel port "));
    }

    #[tokio::test]
    async fn errors_name_the_flag() {
        let taken = start(&flags("sim --role prefill --port 0")).await.unwrap();
        let (port, bootstrap) = (taken.addr().port(), taken.bootstrap_port().unwrap());
        for (line, wanted) in [
            (format!("sim --role plain --port {port}"), "choose another with --port"),
            (
                format!("sim --role prefill --port 0 --bootstrap-port {bootstrap}"),
                "choose another with --bootstrap-port",
            ),
            ("sim --role plain --port 0 --host a..b".to_owned(), "--host \"a..b\" has no address"),
        ] {
            let error = start(&flags(&line)).await.unwrap_err().to_string();
            assert!(error.contains(wanted) && error.lines().count() == 1, "{line}: {error}");
        }
    }
}
