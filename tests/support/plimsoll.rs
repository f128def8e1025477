//! The router as a child process.

use std::{fs, net::SocketAddr, process::ExitStatus};

use tokio::{
    io::{AsyncBufReadExt, BufReader},
    process::{Child, ChildStderr, Command},
    sync::watch,
};

use super::{command::command, http::Call, page::Page, wait::eventually};

/// A router at work. It is killed when dropped.
pub(crate) struct Plimsoll {
    child: Child,
    /// Everything on standard error so far.
    log: watch::Receiver<String>,
    pub(crate) addr: SocketAddr,
    pub(crate) metrics_addr: SocketAddr,
    /// It says that it serves by TLS.
    pub(crate) is_tls: bool,
}

// === impl Plimsoll ===

impl Plimsoll {
    /// Starts a router on free ports and waits until it is ready for requests.
    pub(crate) async fn start(line: &str) -> Self {
        let router = Self::launch(line).await;
        router.ready().await;
        router
    }

    /// Starts a router on free ports and waits until it listens.
    pub(crate) async fn launch(line: &str) -> Self {
        Self::launch_with(line, &[]).await
    }

    /// As [`launch`](Self::launch), with these variables.
    pub(crate) async fn launch_with(line: &str, variables: &[(&str, &str)]) -> Self {
        let ports = "--host 127.0.0.1 --port 0 --prometheus-host 127.0.0.1 --prometheus-port 0";
        let mut child =
            command(&format!("{line} {ports}"), variables).spawn().expect("the binary runs");
        let mut log = drain(child.stderr.take().expect("standard error"));
        let text = log.wait_for(|log| log.contains("/metrics\n")).await.ok().map(|log| log.clone());
        let Some(text) = text else { panic!("it ended: {}", *log.borrow()) };
        let addr = |before: &str| -> SocketAddr {
            let after = text.split(before).nth(1).expect("the line that says where it listens");
            let end = after.find([',', '/']).expect("the end of an address");
            after[..end].parse().expect("an address")
        };
        let is_tls = text.contains("serving on https://");
        let serving = if is_tls { "serving on https://" } else { "serving on http://" };
        let (addr, metrics_addr) = (addr(serving), addr("metrics on http://"));
        Self { child, log, addr, metrics_addr, is_tls }
    }

    /// Waits until it is ready for requests.
    pub(crate) async fn ready(&self) {
        assert!(!self.is_tls, "a call has no TLS");
        eventually(async || match self.get("/readiness").send().await.status {
            200 => Ok(()),
            status => Err(format!("/readiness is {status}\n{}", self.log())),
        })
        .await;
    }

    /// A GET on the serving port.
    pub(crate) fn get(&self, path: &str) -> Call {
        Call::new(self.addr, "GET", path)
    }

    /// A POST of JSON on the serving port.
    pub(crate) fn post(&self, path: &str, body: impl Into<bytes::Bytes>) -> Call {
        Call::new(self.addr, "POST", path).header("content-type", "application/json").body(body)
    }

    /// A GET on the metrics port.
    pub(crate) fn ask_metrics(&self, path: &str) -> Call {
        Call::new(self.metrics_addr, "GET", path)
    }

    /// The metrics page.
    pub(crate) async fn page(&self) -> Page {
        let answer = self.ask_metrics("/metrics").send().await;
        assert_eq!(answer.status, 200);
        Page::parse(&answer.text())
    }

    /// The page once it satisfies a condition.
    pub(crate) async fn page_when(&self, condition: impl Fn(&Page) -> bool) -> Page {
        eventually(async || {
            let page = self.page().await;
            if condition(&page) { Ok(page) } else { Err(format!("{page}\n{}", self.log())) }
        })
        .await
    }

    /// The page once exactly `count` requests are accounted for and none is under way.
    pub(crate) async fn settled(&self, count: u64) -> Page {
        self.page_when(|page| {
            page.count("plimsoll_requests_in_flight", &[]) == 0
                && page.count("plimsoll_worker_in_flight", &[]) == 0
                && page.count("plimsoll_requests_total", &[]) == count
        })
        .await
    }

    /// The names of the models it lists, once there are as many: engines are asked after they are up.
    pub(crate) async fn models(&self, count: usize) -> Vec<String> {
        eventually(async || {
            let listing = self.get("/v1/models").send().await.json();
            let data = listing["data"].as_array().expect("a list");
            let ids = data.iter().map(|model| model["id"].as_str().expect("a name").to_owned());
            let ids: Vec<_> = ids.collect();
            if ids.len() == count { Ok(ids) } else { Err(listing.to_string()) }
        })
        .await
    }

    /// Standard error so far.
    pub(crate) fn log(&self) -> String {
        self.log.borrow().clone()
    }

    /// Waits until standard error holds a text.
    pub(crate) async fn logged(&self, text: &str) {
        let mut log = self.log.clone();
        let found = log.wait_for(|log| log.contains(text)).await.is_ok();
        assert!(found, "the log ended without {text:?}:\n{}", self.log());
    }

    /// The memory it takes, in bytes.
    pub(crate) fn resident(&self) -> u64 {
        self.memory("VmRSS:")
    }

    /// The most that it has taken so far, in bytes.
    pub(crate) fn peak(&self) -> u64 {
        self.memory("VmHWM:")
    }

    fn memory(&self, name: &str) -> u64 {
        let id = self.child.id().expect("it runs");
        let status = fs::read_to_string(format!("/proc/{id}/status")).expect("a Linux");
        let line = status.lines().find_map(|line| line.strip_prefix(name));
        let number = line.and_then(|line| line.split_whitespace().next()).expect("a number");
        number.parse::<u64>().expect("a number") << 10
    }

    /// How many files and sockets it has open.
    pub(crate) fn open_files(&self) -> u64 {
        let id = self.child.id().expect("it runs");
        fs::read_dir(format!("/proc/{id}/fd")).expect("a Linux").count() as u64
    }

    /// Sends it a signal, named as `kill` names it.
    pub(crate) async fn signal(&self, name: &str) {
        let id = self.child.id().expect("it runs");
        // Every shell has it built in; the program `kill` is not on every machine.
        let order = format!("kill -s {name} {id}");
        let sent = Command::new("sh").args(["-c", &order]).status().await.expect("a shell");
        assert!(sent.success());
    }

    /// Waits until it ends.
    pub(crate) async fn ended(&mut self) -> ExitStatus {
        self.child.wait().await.expect("a child")
    }

    /// It runs still.
    pub(crate) fn runs(&mut self) -> bool {
        self.child.try_wait().expect("a child").is_none()
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
