//! Metrics pages that are too much: of each the state says so, and the router's own page stays small.

use bytes::Bytes;
use plimsoll_sim::{
    SeenRequest,
    replay::{ReplayServer, Reply},
};

use super::{answers::bomb, assert_well};
use crate::support::{Page, Plimsoll, within};

/// A page that is too large, or too slow to be read whole, takes its time here.
const PATIENT: &str = "--scrape-interval-ms 1000 --scrape-timeout-ms 20000 --stale-after-ms 60000";

/// What the router's page may have, in bytes: there are some hundred ranks' worth of lines on it.
const MAX_PAGE: usize = 1 << 20;

fn text(body: impl Into<Bytes>, more: &str) -> Reply {
    let body = body.into();
    let head = format!("HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\n{more}content-length: ");
    Reply::new().write(format!("{head}{}\r\n\r\n", body.len())).write(body)
}

/// A gigabyte in chunks.
fn endless() -> Reply {
    let lines = "sglang:token_usage{tp_rank=\"0\"} 0.5\n".repeat(29_000);
    let chunk = Bytes::from(format!("{:x}\r\n{lines}\r\n", lines.len()));
    let reply = Reply::new().write("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n");
    (0..1024).fold(reply, |reply, _| reply.write(chunk.clone())).write("0\r\n\r\n")
}

/// The page of an engine that is like this.
fn page_of(kind: &str) -> Reply {
    let many = |line: &dyn Fn(usize) -> String| (0..100_000).map(line).collect::<String>();
    match kind {
        "endless" => endless(),
        "bomb" => text(bomb(), "content-encoding: gzip\r\n"),
        "line" => text("x".repeat(12 << 20), ""),
        "label" => {
            let name = "m".repeat(8 << 20);
            text(format!("sglang:token_usage{{model_name=\"{name}\"}} 0.5\n"), "")
        }
        "nan" => text(many(&|rank| format!("sglang:token_usage{{dp_rank=\"{rank}\"}} NaN\n")), ""),
        "ranks" => {
            text(many(&|rank| format!("sglang:token_usage{{dp_rank=\"{rank}\"}} 0.5\n")), "")
        }
        "names" => {
            let long = "r".repeat(9000);
            let line = |rank| format!("sglang:token_usage{{dp_rank=\"{rank}{long}\"}} 0.5\n");
            text((0..1500).map(line).collect::<String>(), "")
        }
        "copies" => {
            let line = |rank| {
                let labels = format!("tp_rank=\"{rank}\",model_name=\"{rank}\",x=\"{rank}\"");
                format!(
                    "sglang:cached_tokens_total{{{labels}}} 5\nsglang:token_usage{{{labels}}} 0.5\n"
                )
            };
            text(many(&line), "")
        }
        _ => text(many(&|number| format!("other_{number}{{a=\"{number}\"}} 1\n")), ""),
    }
}

async fn engine(kind: &'static str) -> ReplayServer {
    let page = page_of(kind);
    let answer = move |request: &SeenRequest| (request.path == "/metrics").then(|| page.clone());
    ReplayServer::start(answer).await.expect("a free loopback port")
}

#[track_caller]
fn state(page: &Page, worker: &str) -> String {
    let mut lines = page.samples.iter().filter(|it| it.name == "plimsoll_worker_reading_state");
    let line = lines.find(|it| it.has(&[("worker", worker)]) && it.value == 1.0);
    line.map_or_else(String::new, |line| line.labels["state"].clone())
}

/// What is made of each kind of page.
const KINDS: [(&str, &[&str]); 9] = [
    ("endless", &["malformed"]),
    ("bomb", &["malformed"]),
    ("line", &["malformed", "empty", "no_kv_metric"]),
    ("label", &["ok"]),
    ("nan", &["no_kv_metric", "malformed"]),
    ("ranks", &["ok", "partial"]),
    ("names", &["no_kv_metric", "malformed"]),
    ("copies", &["ok"]),
    ("other", &["no_kv_metric", "malformed"]),
];

#[tokio::test]
async fn a_page_that_is_too_much_stays_on_its_side() {
    within(std::time::Duration::from_secs(120), async {
        for (kind, states) in KINDS {
            let engine = engine(kind).await;
            let router =
                Plimsoll::start(&format!("--worker-urls {} {PATIENT}", engine.url())).await;
            let before = router.resident();
            let read = |page: &Page| !["", "pending"].contains(&&*state(page, &engine.url()));
            let page = router.page_when(read).await;
            let (text, state) = (page.to_string(), state(&page, &engine.url()));
            println!("{kind}: {state}, {} B", text.len());
            assert!(states.contains(&&*state), "{kind}: {state}");
            assert!(text.len() < MAX_PAGE, "{kind}: {}", text.len());
            assert!(text.lines().all(|line| line.len() < 2000), "{kind}");
            for sample in &page.samples {
                assert!(sample.value.is_finite(), "{kind}: {sample:?}");
            }
            assert_well(&router, before, 160 << 20).await;
        }
    })
    .await;
}
