//! The layer and the readings in programs that know nothing of routing: the examples, from outside.

use std::{net::SocketAddr, path::PathBuf, process::Stdio};

use plimsoll_sim::SimConfig;

use tokio::{
    io::{AsyncBufReadExt, BufReader, Lines},
    process::{Child, ChildStdout, Command},
};

use crate::support::{Call, Page, bounded, chat, eventually, example, sim};

/// An example at work. It is killed when dropped.
struct Example {
    _child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

// === impl Example ===

impl Example {
    /// Starts a service on a free port.
    fn start(program: PathBuf) -> Self {
        Self::start_with(program, "0")
    }

    fn start_with(program: PathBuf, argument: &str) -> Self {
        let mut child = Command::new(program)
            .arg(argument)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("it runs");
        let lines = BufReader::new(child.stdout.take().expect("its output")).lines();
        Self { _child: child, lines }
    }

    async fn line(&mut self) -> String {
        self.lines.next_line().await.expect("its output").expect("a line")
    }

    /// The address in the next line, a URL, and its path.
    async fn url(&mut self) -> (SocketAddr, String) {
        let url = self.line().await;
        let rest = url.strip_prefix("http://").expect("a URL");
        let slash = rest.find('/').expect("a path");
        (rest[..slash].parse().expect("an address"), rest[slash..].to_owned())
    }
}

fn post((addr, path): &(SocketAddr, String), body: String) -> Call {
    Call::new(*addr, "POST", path).header("content-type", "application/json").body(body)
}

/// The page, once so many requests are on it.
async fn page_of((addr, path): &(SocketAddr, String), requests: u64) -> Page {
    eventually(async || {
        let page = Page::parse(&Call::new(*addr, "GET", path).send().await.text());
        let counted = page.count("plimsoll_requests_total", &[]);
        if counted == requests { Ok(page) } else { Err(page.to_string()) }
    })
    .await
}

#[tokio::test]
async fn the_axum_example_counts() {
    let program = example("embed_axum");
    bounded(async {
        let mut example = Example::start(program);
        let (chat_url, page_url) = (example.url().await, example.url().await);
        for more in ["", ",\"stream\":true"] {
            let answer = post(&chat_url, chat(more)).send().await;
            assert_eq!(answer.status, 200);
            assert!(answer.text().contains("Hello"), "{}", answer.text());
        }
        let page = page_of(&page_url, 2).await;
        for stream in ["true", "false"] {
            let labels = [("endpoint", "chat"), ("stream", stream), ("model", "parrot")];
            assert_eq!(page.count("plimsoll_requests_total", &labels), 1, "{page}");
            assert_eq!(page.count("plimsoll_prompt_tokens_total", &labels), 7);
            assert_eq!(page.count("plimsoll_completion_tokens_total", &labels), 2);
        }
        assert_eq!(page.count("plimsoll_time_to_first_token_seconds_count", &[]), 1);
        assert_eq!(page.count("plimsoll_requests_in_flight", &[]), 0);
    })
    .await;
}

#[tokio::test]
async fn the_hyper_example_tells_errors_apart_by_model() {
    let program = example("embed_hyper");
    bounded(async {
        let mut example = Example::start(program);
        let (chat_url, page_url) = (example.url().await, example.url().await);
        assert_eq!(post(&chat_url, chat("")).send().await.status, 200);
        let refused = post(&chat_url, "{\"model\":\"asked\"}".to_owned()).send().await;
        assert_eq!(refused.status, 400);
        let page = page_of(&page_url, 2).await;
        for (model, outcome) in [("parrot", "complete"), ("asked", "client_error")] {
            let labels = [("model", model), ("outcome", outcome)];
            assert_eq!(page.count("plimsoll_requests_total", &labels), 1, "{page}");
        }
        assert_eq!(page.count("plimsoll_completion_tokens_total", &[]), 2);
    })
    .await;
}

#[tokio::test]
async fn the_sink_example_writes_a_bill() {
    let program = example("custom_sink");
    bounded(async {
        let mut example = Example::start(program);
        let chat_url = example.url().await;
        post(&chat_url, chat("")).header("x-team", "a").send().await;
        assert_eq!(example.line().await, "1 a parrot complete 7+2");
        post(&chat_url, "{".to_owned()).send().await;
        assert_eq!(example.line().await, "2 unknown unknown client_error ?+?");
    })
    .await;
}

#[tokio::test]
async fn the_scrape_example_reads_engines() {
    let program = example("scrape_only");
    bounded(async {
        let engine = sim(SimConfig::default()).await;
        let mut example = Example::start_with(program, &format!("{}/", engine.url()));
        let mut line_with = async |text: &str| {
            eventually(async || {
                let line = example.line().await;
                if line.contains(text) { Ok(line) } else { Err(line) }
            })
            .await
        };
        let unused = line_with(" capacity_only ").await;
        assert_eq!(unused, format!("{} capacity_only unknown", engine.url()));
        let place = (engine.addr(), "/v1/chat/completions".to_owned());
        assert_eq!(post(&place, chat("")).send().await.status, 200);
        assert_eq!(line_with(" ok ").await, format!("{} ok 0.0 % full", engine.url()));
    })
    .await;
}
