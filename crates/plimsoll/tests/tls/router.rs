//! The router as a child process.

use std::{env, net::SocketAddr, process::Stdio, time::Duration};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, ChildStderr, Command},
    sync::watch,
    time::{Instant, sleep},
};

use crate::client::{Answer, Client};

/// No condition is waited for longer.
const CONDITION: Duration = Duration::from_secs(20);

/// A router at work. It is killed when dropped.
pub(crate) struct Router {
    pub(crate) addr: SocketAddr,
    pub(crate) metrics: SocketAddr,
    /// It says that it serves by https.
    pub(crate) is_tls: bool,
    log: watch::Receiver<String>,
    child: Child,
}

/// What the binary said, and its exit code.
pub(crate) struct Said {
    pub(crate) code: Option<i32>,
    pub(crate) out: String,
    pub(crate) err: String,
}

/// The binary with these arguments, and no variable of its own in the environment.
fn command(line: &str) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(line.split_whitespace()).kill_on_drop(true);
    for (name, _) in env::vars_os() {
        let upper = name.to_string_lossy().to_ascii_uppercase();
        if upper.starts_with("PLIMSOLL") || upper.ends_with("_PROXY") {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What the binary says of a line.
pub(crate) async fn said(line: &str) -> Said {
    let output = command(line).output().await.expect("it runs");
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    Said { code: output.status.code(), out: text(&output.stdout), err: text(&output.stderr) }
}

/// Asks until the answer is `Ok`; fails with the last `Err`.
pub(crate) async fn eventually<T>(mut check: impl AsyncFnMut() -> Result<T, String>) -> T {
    let end = Instant::now() + CONDITION;
    loop {
        match check().await {
            Ok(value) => return value,
            Err(reason) => assert!(Instant::now() < end, "not within {CONDITION:?}: {reason}"),
        }
        sleep(Duration::from_millis(4)).await;
    }
}

// === impl Router ===

impl Router {
    /// Starts a router on free ports and waits until it listens.
    pub(crate) async fn launch(line: &str) -> Self {
        let ports = "--host 127.0.0.1 --port 0 --prometheus-host 127.0.0.1 --prometheus-port 0";
        let mut child = command(&format!("{line} {ports}")).spawn().expect("the binary runs");
        let mut log = drain(child.stderr.take().expect("standard error"));
        let text = log.wait_for(|log| log.contains("/metrics\n")).await.ok().map(|log| log.clone());
        let Some(text) = text else { panic!("it ended: {}", *log.borrow()) };
        let addr = |before: &str| -> SocketAddr {
            let after = text.split(before).nth(1).expect("the line of the addresses");
            let after = after.split_once("://").expect("a scheme").1;
            after[..after.find([',', '/']).expect("its end")].parse().expect("an address")
        };
        let is_tls = text.contains("serving on https://");
        let (addr, metrics) = (addr("serving on "), addr("metrics on "));
        Self { addr, metrics, is_tls, log, child }
    }

    /// Starts one and waits until it is ready for requests of `client`.
    pub(crate) async fn start(line: &str, client: &Client) -> Self {
        let router = Self::launch(line).await;
        eventually(async || match client.get(router.addr, "/readiness").await {
            Ok(Answer { status: 200, .. }) => Ok(()),
            other => Err(format!("{other:?}\n{}", router.log())),
        })
        .await;
        router
    }

    /// Waits until the only worker is out for a reason that holds this text.
    pub(crate) async fn has_reason(&self, text: &str) {
        eventually(async || {
            let listing = Client::plain().get(self.addr, "/workers").await?;
            let listing: Value = serde_json::from_str(&listing.body).expect("JSON");
            let reason = listing["workers"][0]["reason"].as_str().unwrap_or_default().to_owned();
            if reason.contains(text) { Ok(()) } else { Err(format!("{reason:?}: {}", self.log())) }
        })
        .await;
    }

    /// Waits until standard error holds a text.
    pub(crate) async fn logged(&self, text: &str) {
        let mut log = self.log.clone();
        let found = log.wait_for(|log| log.contains(text)).await.is_ok();
        assert!(found, "the log ended without {text:?}:\n{}", self.log());
    }

    /// Standard error so far.
    pub(crate) fn log(&self) -> String {
        self.log.borrow().clone()
    }

    /// Sends it a signal, named as `kill` names it.
    pub(crate) async fn signal(&self, name: &str) {
        let id = self.child.id().expect("it runs").to_string();
        let sent = Command::new("kill").args(["-s", name, &id]).status().await.expect("kill runs");
        assert!(sent.success());
    }

    /// Waits until it ends, and says with which code.
    pub(crate) async fn ended(&mut self) -> Option<i32> {
        self.child.wait().await.expect("a child").code()
    }
}

/// Reads standard error as long as the child writes, so that it never blocks.
fn drain(stderr: ChildStderr) -> watch::Receiver<String> {
    let (write, log) = watch::channel(String::new());
    tokio::spawn(async move {
        let mut lines = BufReader::new(stderr).lines();
        while let Ok(Some(line)) = lines.next_line().await {
            write.send_modify(|log| {
                log.push_str(&line);
                log.push('\n');
            });
        }
    });
    log
}
