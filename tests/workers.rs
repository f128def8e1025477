//! Workers that come and go while the router runs.

use std::{collections::BTreeMap, time::Duration};

use plimsoll_sim::{SimConfig, SimEngine};
use serde_json::{Value, json};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use crate::support::{Answer, Call, Page, Plimsoll, bounded, chat, eventually, sim};

const CHAT: &str = "/v1/chat/completions";

/// Where nobody listens. A port that was free a moment ago may be another test's by now.
const NOWHERE: &str = "http://127.0.0.1:1";

/// The key, and how it is sent.
const KEY: &str = "--api-key right";
const BEARER: &str = "Bearer right";

/// A router with a key and one worker.
async fn router(engine: &SimEngine) -> Plimsoll {
    Plimsoll::start(&format!("--worker-urls {} {KEY}", engine.url())).await
}

fn encoded(url: &str) -> String {
    url.replace(':', "%3A").replace('/', "%2F")
}

async fn add(router: &Plimsoll, body: &Value) -> Answer {
    let call = router.post("/workers", body.to_string()).header("authorization", BEARER);
    call.send().await
}

async fn remove(router: &Plimsoll, url: &str) -> Answer {
    let call = Call::new(router.addr, "DELETE", &format!("/workers/{}", encoded(url)));
    call.header("authorization", BEARER).send().await
}

/// The entry of a worker in the listing.
async fn entry(router: &Plimsoll, url: &str) -> Option<Value> {
    let listing = router.get("/workers").header("authorization", BEARER).send().await.json();
    let workers = listing["workers"].as_array().expect("a list");
    workers.iter().find(|entry| entry["url"] == url).cloned()
}

/// Waits until the entry of a worker satisfies a condition.
async fn entry_when(router: &Plimsoll, url: &str, condition: impl Fn(&Value) -> bool) -> Value {
    eventually(async || {
        let entry = entry(router, url).await.unwrap_or_default();
        if condition(&entry) { Ok(entry) } else { Err(entry.to_string()) }
    })
    .await
}

fn ask(router: &Plimsoll, more: &str) -> Call {
    router.post(CHAT, chat(more)).header("authorization", BEARER)
}

#[tokio::test]
async fn a_worker_that_comes_serves() {
    bounded(async {
        let first = sim(SimConfig::default().model("one".to_owned())).await;
        let second = sim(SimConfig::default().model("two".to_owned())).await;
        let router = router(&first).await;
        let added = add(&router, &json!({"url": second.url()})).await;
        assert_eq!((added.status, &added.json()["role"]), (201, &"plain".into()));
        let url = second.url();
        // Its models are known a moment before it is up.
        let entry = entry_when(&router, &url, |entry| entry["eligible"] == true).await;
        assert_eq!((&entry["up"], &entry["models"]), (&true.into(), &json!(["two"])), "{entry}");
        assert_eq!(entry["reason"], Value::Null);
        for model in ["one", "two"] {
            let body = chat("").replace("tiny-llama", model);
            let call = router.post(CHAT, body).header("authorization", BEARER);
            assert_eq!(call.send().await.status, 200);
        }
        assert_eq!((first.totals().requests, second.totals().requests), (1, 1));
        router.settled(2).await;
        let again = add(&router, &json!({"url": second.url()})).await;
        assert_eq!(again.status, 409, "{}", again.text());
        assert!(again.error().contains(&second.url()));
    })
    .await;
}

#[tokio::test]
async fn a_worker_that_is_to_go_ends_its_stream() {
    bounded(async {
        let interval = Duration::from_millis(30);
        let going = SimConfig { token_interval: interval, ..SimConfig::default() };
        let (going, staying) = (sim(going).await, sim(SimConfig::default()).await);
        let router = router(&going).await;
        let more = ",\"stream\":true,\"max_tokens\":40,\"ignore_eos\":true";
        let mut stream = ask(&router, more).open().await;
        stream.until("data: ").await;
        assert_eq!(add(&router, &json!({"url": staying.url()})).await.status, 201);
        entry_when(&router, &staying.url(), |entry| entry["eligible"] == true).await;

        let removed = remove(&router, &going.url()).await;
        assert_eq!(removed.status, 202, "{}", removed.text());
        assert_eq!(removed.json(), json!({"url": going.url(), "state": "draining"}));
        let left = entry(&router, &going.url()).await.expect("it is there until the stream ends");
        assert_eq!((&left["eligible"], &left["reason"]), (&false.into(), &"draining".into()));
        assert_eq!(left["in_flight"], 1);
        for _ in 0..4 {
            assert_eq!(ask(&router, "").send().await.status, 200);
        }
        assert_eq!((going.totals().requests, staying.totals().requests), (1, 4));

        let answer = stream.rest().await;
        assert!(answer.complete && answer.text().ends_with("data: [DONE]\n\n"));
        let gone = |page: &Page| !page.to_string().contains(&going.url());
        let page = router.page_when(gone).await;
        assert_eq!(page.outcomes("complete"), 5, "{page}");
        assert_eq!(entry(&router, &going.url()).await, None);
        assert_eq!(remove(&router, &going.url()).await.status, 404);
    })
    .await;
}

#[tokio::test]
async fn the_last_worker_of_all_goes_and_another_comes() {
    bounded(async {
        let engine = sim(SimConfig::default()).await;
        let router = router(&engine).await;
        let removed = remove(&router, &engine.url()).await;
        assert_eq!((removed.status, &removed.json()["state"]), (200, &"removed".into()));
        assert_eq!(router.get("/readiness").send().await.status, 503);
        assert_eq!(ask(&router, "").send().await.status, 503);
        assert_eq!(add(&router, &json!({"url": engine.url()})).await.status, 201);
        entry_when(&router, &engine.url(), |entry| entry["eligible"] == true).await;
        assert_eq!(ask(&router, "").send().await.status, 200);
    })
    .await;
}

#[tokio::test]
async fn why_a_worker_is_not_eligible() {
    bounded(async {
        let first = sim(SimConfig::default()).await;
        let unwell = sim(SimConfig::default()).await;
        unwell.faults().set_unhealthy(true);
        let router = router(&first).await;
        for (url, why) in [(NOWHERE, "it cannot be reached"), (&*unwell.url(), "it answered 503")] {
            let added = add(&router, &json!({"url": url})).await;
            assert_eq!((added.status, &added.json()["eligible"]), (201, &false.into()));
            let fails = |entry: &Value| {
                let reason = entry["reason"].as_str().unwrap_or_default();
                reason.starts_with(&format!("its probes fail: {why}")) && entry["up"] == false
            };
            entry_when(&router, url, fails).await;
        }
        unwell.faults().clear();
        entry_when(&router, &unwell.url(), |entry| entry["eligible"] == true).await;
    })
    .await;
}

/// A connection that is kept: thousands of requests would leave as many ports behind.
struct Kept(TcpStream);

impl Kept {
    /// The status of the answer.
    async fn ask(&mut self, method: &str, path: &str, body: &str) -> u16 {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: router\r\nauthorization: {BEARER}\r\n\
             content-length: {}\r\n\r\n{body}",
            body.len()
        );
        self.0.write_all(request.as_bytes()).await.expect("it is read");
        let mut seen = Vec::new();
        loop {
            let text = String::from_utf8_lossy(&seen).into_owned();
            if let Some((head, body)) = text.split_once("\r\n\r\n") {
                let length = head.split("content-length: ").nth(1).expect("a length");
                let length: usize = length.lines().next().unwrap_or("").parse().expect("a number");
                if body.len() >= length {
                    return head[9..12].parse().expect("a status");
                }
            }
            assert_ne!(self.0.read_buf(&mut seen).await.expect("it answers"), 0, "{text}");
        }
    }
}

const SCRAPES: &str = "plimsoll_worker_scrapes_total";

/// What has a line on the page; how readings end is chance on a busy machine.
fn series(page: &Page) -> Vec<(&String, &BTreeMap<String, String>)> {
    let samples = page.samples.iter().filter(|sample| sample.name != SCRAPES);
    samples.map(|sample| (&sample.name, &sample.labels)).collect()
}

#[tokio::test]
async fn a_thousand_cycles_leave_nothing_behind() {
    bounded(async {
        let engine = sim(SimConfig::default()).await;
        let line = format!("--worker-urls {} {KEY} --scrape-interval-ms 100", engine.url());
        let router = Plimsoll::start(&line).await;
        assert_eq!(ask(&router, "").send().await.status, 200);
        router.settled(1).await;
        let read = |page: &Page| page.sum(SCRAPES, &[("result", "ok")]) >= 3.0;
        let before = router.page_when(read).await;
        let body = json!({"url": NOWHERE}).to_string();
        let path = format!("/workers/{}", encoded(NOWHERE));
        let mut kept = Kept(TcpStream::connect(router.addr).await.expect("it listens"));
        for cycle in 0..1000 {
            assert_eq!(kept.ask("POST", "/workers", &body).await, 201, "{cycle}");
            if cycle % 100 == 0 {
                assert!(router.page().await.to_string().contains(NOWHERE));
            }
            assert_eq!(kept.ask("DELETE", &path, "").await, 200, "{cycle}");
        }
        // Its reading goes a moment later than it.
        let after = router.page_when(|page| !page.to_string().contains(NOWHERE)).await;
        assert_eq!(series(&after), series(&before), "{before}\n{after}");
        assert_eq!(ask(&router, "").send().await.status, 200);
    })
    .await;
}

#[tokio::test]
async fn with_a_key_only_by_key() {
    bounded(async {
        let engine = sim(SimConfig::default()).await;
        let router = router(&engine).await;
        let one = format!("/workers/{}", encoded(&engine.url()));
        for (method, path) in [("GET", "/workers"), ("POST", "/workers"), ("DELETE", &*one)] {
            let answer = Call::new(router.addr, method, path).body("{}").send().await;
            assert_eq!(answer.status, 401, "{method} {path}");
        }
        for (method, path, allow) in [
            ("DELETE", "/workers", "GET, POST"),
            ("PUT", "/workers", "GET, POST"),
            ("GET", &*one, "DELETE"),
        ] {
            let call = Call::new(router.addr, method, path).header("authorization", BEARER);
            let answer = call.body("{}").send().await;
            assert_eq!((answer.status, answer.header("allow")), (405, Some(allow)), "{path}");
        }
        // None of it is a request for an engine.
        assert_eq!(router.page().await.count("plimsoll_requests_total", &[]), 0);
    })
    .await;
}

/// All tests run on loopback: that others are refused is tested beside the code. A request that is
/// passed on counts as one of theirs.
#[tokio::test]
async fn without_a_key_only_from_here() {
    bounded(async {
        let engine = sim(SimConfig::default()).await;
        let router = Plimsoll::start(&format!("--worker-urls {}", engine.url())).await;
        let body = json!({"url": NOWHERE}).to_string();
        let passed_on = router.post("/workers", body.clone()).header("x-forwarded-for", "10.0.0.1");
        let answer = passed_on.send().await;
        assert_eq!(answer.status, 403);
        assert!(answer.error().contains("--api-key"), "{}", answer.text());
        assert_eq!(router.post("/workers", body).send().await.status, 201);
        assert_eq!(remove(&router, &engine.url()).await.status, 200);
    })
    .await;
}
