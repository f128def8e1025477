//! The router as a child process, with a kubeconfig.

use std::{
    env, fs,
    net::SocketAddr,
    path::PathBuf,
    process::{self, Stdio},
    sync::atomic::{AtomicU32, Ordering},
    time::Duration,
};

use serde_json::Value;
use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader},
    net::TcpStream,
    process::{Child, ChildStderr, Command},
    sync::watch,
    time::{Instant, sleep},
};

/// No condition is waited for longer.
const CONDITION: Duration = Duration::from_secs(20);

/// A router at work. It is killed when dropped.
pub(crate) struct Router {
    addr: SocketAddr,
    log: watch::Receiver<String>,
    _child: Child,
    _config: Kubeconfig,
}

/// A kubeconfig that goes away with the test.
struct Kubeconfig(PathBuf);

/// The binary with these arguments, and with no other way to an API server than this one.
fn command(line: &str, config: &Kubeconfig) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_plimsoll"));
    command.args(line.split_whitespace()).env("KUBECONFIG", &config.0).kill_on_drop(true);
    for (name, _) in env::vars_os() {
        let upper = name.to_string_lossy().to_ascii_uppercase();
        let is_ours = upper.starts_with("PLIMSOLL") || upper.starts_with("KUBERNETES");
        if is_ours || upper.ends_with("_PROXY") {
            command.env_remove(name);
        }
    }
    command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command
}

/// What the binary says of a line, and its exit code.
pub(crate) async fn said(line: &str, api: Option<SocketAddr>) -> (Option<i32>, String, String) {
    let config = api.map_or_else(|| Kubeconfig("/none".into()), Kubeconfig::new);
    let output = command(line, &config).output().await.expect("it runs");
    let text = |bytes| String::from_utf8_lossy(bytes).into_owned();
    (output.status.code(), text(&output.stdout), text(&output.stderr))
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
    pub(crate) async fn launch(line: &str, api: SocketAddr) -> Self {
        let ports = "--host 127.0.0.1 --port 0 --prometheus-host 127.0.0.1 --prometheus-port 0";
        let config = Kubeconfig::new(api);
        let line = format!("--service-discovery {line} {ports}");
        let mut child = command(&line, &config).spawn().expect("the binary runs");
        let mut log = drain(child.stderr.take().expect("standard error"));
        let text = log.wait_for(|log| log.contains("/metrics\n")).await.ok().map(|log| log.clone());
        let Some(text) = text else { panic!("it ended: {}", *log.borrow()) };
        let after = text.split("serving on http://").nth(1).expect("the line of the address");
        let addr = after[..after.find(',').expect("its end")].parse().expect("an address");
        Self { addr, log, _child: child, _config: config }
    }

    /// Waits until these are the workers, each as `ROLE URL [BOOTSTRAP_PORT]`.
    pub(crate) async fn has(&self, wanted: &[&str]) {
        eventually(async || match self.workers().await {
            workers if workers == wanted => Ok(()),
            workers => Err(format!("{workers:?} are not {wanted:?}\n{}", *self.log.borrow())),
        })
        .await;
    }

    /// The workers now, sorted.
    pub(crate) async fn workers(&self) -> Vec<String> {
        let (_, body) = self.ask("GET", "/workers", "").await;
        let listing: Value = serde_json::from_str(&body).expect("JSON");
        let workers = listing["workers"].as_array().expect("a list").iter().map(|worker| {
            let text = |member: &str| worker[member].as_str().unwrap_or_default().to_owned();
            let port = worker["bootstrap_port"].as_u64();
            let port = port.map(|port| format!(" {port}")).unwrap_or_default();
            format!("{} {}{port}", text("role"), text("url"))
        });
        let mut workers: Vec<_> = workers.collect();
        workers.sort();
        workers
    }

    /// Status and body of an answer.
    pub(crate) async fn ask(&self, method: &str, path: &str, body: &str) -> (u16, String) {
        let mut stream = TcpStream::connect(self.addr).await.expect("it listens");
        let request = format!(
            "{method} {path} HTTP/1.0\r\nhost: x\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(request.as_bytes()).await.expect("it reads");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.expect("it answers");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok());
        (status.expect("a status"), body.to_owned())
    }

    /// Waits until standard error holds a text.
    pub(crate) async fn logged(&self, text: &str) {
        let mut log = self.log.clone();
        let found = log.wait_for(|log| log.contains(text)).await.is_ok();
        assert!(found, "the log ended without {text:?}:\n{}", *self.log.borrow());
    }

    /// How often standard error holds a text.
    pub(crate) fn log_count(&self, text: &str) -> usize {
        self.log.borrow().matches(text).count()
    }
}

// === impl Kubeconfig ===

impl Kubeconfig {
    fn new(api: SocketAddr) -> Self {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let number = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = env::temp_dir().join(format!("plimsoll-kube-{}-{number}", process::id()));
        let text = format!(
            "{{apiVersion: v1, kind: Config, current-context: c, \
             clusters: [{{name: c, cluster: {{server: 'http://{api}'}}}}], \
             contexts: [{{name: c, context: {{cluster: c, user: c}}}}], \
             users: [{{name: c, user: {{}}}}]}}"
        );
        fs::write(&path, text).expect("a file");
        Self(path)
    }
}

impl Drop for Kubeconfig {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
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
