//! How full the KV caches are: what the page, `GET /kv` and the command line say of engines in
//! every state.

mod command;
mod roles;
mod sources;
mod states;
mod workers;

use std::time::Duration;

use plimsoll_sim::{
    SeenRequest, SimConfig,
    replay::{ReplayServer, Reply},
};
use serde_json::{Value, json};

use crate::support::{Exchange, Page, Plimsoll, eventually};

const CHAT: &str = "/v1/chat/completions";

/// Read often, with limits that a busy machine keeps.
const OFTEN: &str = "--scrape-interval-ms 100 --scrape-timeout-ms 5000 --stale-after-ms 30000";

/// What is not known before the first batch has run: the ends of the families' names.
const CHANGING: [&str; 6] = [
    "kv_used_tokens",
    "kv_evictable_tokens",
    "kv_available_tokens",
    "kv_usage_ratio",
    "kv_usage_ratio_max",
    "kv_occupied_ratio",
];

/// An engine that gives the first token at once and then no other: what it holds stays the same.
fn steady() -> SimConfig {
    SimConfig::default().token_interval(Duration::from_secs(3600))
}

fn prompt(model: &str, more: &Value) -> String {
    let text = "water under the bridge ".repeat(60);
    let mut body = json!({"model": model, "messages": [{"role": "user", "content": text}]});
    let members = body.as_object_mut().expect("an object");
    members.extend(more.as_object().expect("an object").clone());
    body.to_string()
}

/// A request that is answered at once.
async fn ask(router: &Plimsoll, model: &str) {
    let answer = router.post(CHAT, prompt(model, &json!({"max_tokens": 1}))).send().await;
    assert_eq!(answer.status, 200, "{}", answer.text());
}

/// A request that steady engines hold for as long as it is kept.
async fn hold(router: &Plimsoll, model: &str) -> Exchange {
    let more = json!({"stream": true, "max_tokens": 50, "ignore_eos": true});
    let mut exchange = router.post(CHAT, prompt(model, &more)).open().await;
    // The first word; it begins with a space.
    exchange.until("\"content\":\" ").await;
    exchange
}

/// The one line of a name with these labels; `None` without one.
#[track_caller]
fn only(page: &Page, name: &str, labels: &[(&str, &str)]) -> Option<f64> {
    let named = page.samples.iter().filter(|sample| sample.name == name);
    let found: Vec<_> = named.filter(|sample| sample.has(labels)).collect();
    assert!(found.len() <= 1, "{found:?}");
    found.first().map(|sample| sample.value)
}

/// The state of a worker's reading.
#[track_caller]
fn state<'a>(page: &'a Page, worker: &str) -> &'a str {
    let named = page.samples.iter().filter(|it| it.name == "plimsoll_worker_reading_state");
    let found: Vec<_> = named.filter(|it| it.has(&[("worker", worker)])).collect();
    assert!(found.len() <= 1 && found.iter().all(|it| it.value == 1.0), "{found:?}");
    found.first().map_or("", |it| it.labels["state"].as_str())
}

/// Every line on the page is a value, and a name of ours.
#[track_caller]
fn assert_clean(page: &Page) {
    for sample in &page.samples {
        assert!(sample.value.is_finite() && sample.value >= 0.0, "{sample:?}");
        assert!(!sample.name.contains(':'), "{sample:?}");
    }
}

/// The page once it satisfies a condition; no page until then holds what is no value.
async fn page_when(router: &Plimsoll, condition: impl Fn(&Page) -> bool) -> Page {
    router
        .page_when(|page| {
            assert_clean(page);
            condition(page)
        })
        .await
}

/// The document of `GET /kv`.
async fn document(router: &Plimsoll) -> Value {
    let answer = router.ask_metrics("/kv").send().await;
    assert_eq!((answer.status, answer.header("content-type")), (200, Some("application/json")));
    answer.json()
}

/// A worker in a document.
fn worker_in(document: &Value, url: &str) -> Option<Value> {
    let workers = document["workers"].as_array().expect("a list");
    workers.iter().find(|worker| worker["worker"] == url).cloned()
}

/// A worker in the document, once it is in a state.
async fn worker_when(router: &Plimsoll, url: &str, state: &str) -> Value {
    eventually(async || {
        let document = document(router).await;
        let worker = worker_in(&document, url).filter(|worker| worker["state"] == state);
        worker.ok_or_else(|| document.to_string())
    })
    .await
}

fn text(body: &str) -> Reply {
    let length = body.len();
    Reply::new().write(format!(
        "HTTP/1.1 200 OK\r\ncontent-type: text/plain\r\ncontent-length: {length}\r\n\r\n{body}"
    ))
}

/// A healthy engine that answers some GETs so.
async fn engine(
    answer: impl Fn(&SeenRequest) -> Option<Reply> + Send + Sync + 'static,
) -> ReplayServer {
    let server = ReplayServer::start(move |request| {
        (request.method == "GET").then(|| answer(request)).flatten()
    });
    server.await.expect("a free loopback port")
}

/// SGLang's page for one data rank that has so many tokens, and uses so many.
fn page_of(rank: u32, capacity: u64, used: u64) -> String {
    let labels = format!("dp_rank=\"{rank}\",model_name=\"m\",tp_rank=\"{rank}\"");
    let (ratio, free) = (used as f64 / capacity as f64, capacity - used);
    format!(
        "sglang:max_total_num_tokens{{{labels}}} {capacity}\n\
         sglang:full_token_usage{{{labels}}} {ratio}\n\
         sglang:kv_used_tokens{{{labels}}} {used}\n\
         sglang:kv_evictable_tokens{{{labels}}} 0\n\
         sglang:kv_available_tokens{{{labels}}} {free}\n"
    )
}
