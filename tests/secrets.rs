//! Keys reach whom they are for, and nothing that anybody reads: no log, page, listing or error.

use std::{
    fs,
    sync::atomic::{AtomicUsize, Ordering},
};

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use plimsoll_sim::replay::{ReplayServer, Reply, Step};
use tokio::net::TcpStream;

use crate::support::{
    Answer, Call, Exchange, Folder, Log, Plimsoll, bounded, chat, eventually, posts, replay, said,
};

const CHAT: &str = "/v1/chat/completions";

/// What is in every key and password here.
const SECRET: &str = "5ecret";

/// What clients send, and what workers get.
const CLIENT_KEY: &str = "sk-client-5ecret";
const WORKER_KEY: &str = "sk-worker-5ecret";

/// What anybody has read: each text with where it was.
#[derive(Default)]
struct Told(Vec<(String, String)>);

// === impl Told ===

impl Told {
    fn hear(&mut self, place: impl Into<String>, text: impl Into<String>) {
        self.0.push((place.into(), text.into()));
    }

    fn answer(&mut self, place: &str, answer: &Answer) {
        // The request's id goes back to whoever gave it.
        let headers = answer.headers.iter().filter(|(name, _)| name != "x-request-id");
        let headers = format!("{:?}", headers.collect::<Vec<_>>());
        self.hear(format!("{place} ({})", answer.status), headers + &answer.text());
    }

    /// None of it holds a key.
    #[track_caller]
    fn assert_clean(&self) {
        for (place, text) in &self.0 {
            assert!(!text.contains(SECRET), "{place}: {text}");
            assert!(!text.is_empty(), "{place} is empty");
        }
    }
}

/// An engine that fails, refuses and answers requests, one after the other.
async fn engine() -> ReplayServer {
    let count = AtomicUsize::new(0);
    let engine = replay(move |_| match count.fetch_add(1, Ordering::Relaxed) % 3 {
        0 => Reply::new().then(Step::Reset),
        1 => Reply::json(400, r#"{"object":"error","message":"no"}"#),
        _ => {
            Reply::json(200, r#"{"choices":[],"usage":{"prompt_tokens":1,"completion_tokens":1}}"#)
        }
    });
    engine.await
}

/// Requests with keys: right, wrong, in odd places, over both protocols.
async fn traffic(router: &Plimsoll, told: &mut Told) {
    let bearer = format!("Bearer {CLIENT_KEY}");
    for (key, body) in [
        (bearer.as_str(), chat("")),
        (&bearer, chat(",\"stream\":true")),
        (&bearer, chat("")),
        (&bearer, "{".to_owned()),
        (&bearer, chat(",\"bootstrap_room\":1")),
        ("Bearer sk-wrong-5ecret", chat("")),
        ("Basic bWU6NWVjcmV0 5ecret", chat("")),
    ] {
        let call = router.post(CHAT, body).header("authorization", key);
        let call = call.header("x-request-id", key).header("x-team", key).header("cookie", key);
        told.answer("an answer", &call.send().await);
    }
    let twice = router.post(CHAT, chat("")).header("authorization", &bearer);
    told.answer("two keys", &twice.header("authorization", &bearer).send().await);
    for path in ["/v1/models", "/workers", "/get_server_info", "/get_loads", "/none", "/metrics"] {
        told.answer(path, &router.get(path).header("authorization", &bearer).send().await);
    }
    told.hear("HTTP/2", over_http2(router, &bearer).await);
    let malformed =
        format!("GET /v1/models HTTP/1.1\r\nauthorization: {bearer}\r\nbad head: {bearer}\r\n\r\n");
    told.hear("a malformed head", Exchange::raw(router.addr, malformed).await.all().await);
}

async fn over_http2(router: &Plimsoll, bearer: &str) -> String {
    let socket = TcpStream::connect(router.addr).await.expect("it listens");
    let (mut client, connection) =
        http2::handshake(TokioExecutor::new(), TokioIo::new(socket)).await.expect("HTTP/2");
    tokio::spawn(connection);
    let request = Request::post(format!("http://{}{CHAT}", router.addr));
    let request = request.header("authorization", bearer).body(Full::new(Bytes::from(chat(""))));
    let answer = client.send_request(request.expect("a request")).await.expect("an answer");
    let (head, body) = answer.into_parts();
    format!("{head:?} {:?}", body.collect().await.expect("its end").to_bytes())
}

/// Changes of workers, by URLs that hold a password too.
async fn changes(router: &Plimsoll, told: &mut Told) {
    let with_password = "http://me:5ecret@127.0.0.1:9";
    for (method, path, body) in [
        ("POST", "/workers", format!("{{\"url\":\"{with_password}\"}}")),
        ("POST", "/workers", format!("{{\"url\":\"{with_password}/v1\"}}")),
        ("DELETE", "/workers", format!("{{\"url\":\"{with_password}\"}}")),
        ("DELETE", "/workers/http%3A%2F%2Fme%3A5ecret%40127.0.0.1%3A9", String::new()),
    ] {
        let call = Call::new(router.addr, method, path).body(body);
        let call = call.header("authorization", &format!("Bearer {CLIENT_KEY}"));
        let answer = call.header("content-type", "application/json").send().await;
        assert!(answer.status >= 400, "{method} {path}: {}", answer.status);
        told.answer(path, &answer);
    }
}

#[tokio::test]
async fn no_key_is_told() {
    bounded(async {
        let (folder, log, engine) = (Folder::new(), Log::new(), engine().await);
        let text = format!(
            "worker-urls = ['{}', 'http://127.0.0.1:1']\napi-key = '{CLIENT_KEY}'\n\
             worker-api-key = '{WORKER_KEY}'\nlog-level = 'trace'\n",
            engine.url()
        );
        let file = folder.put("plimsoll.toml", &text);
        let logs = folder.path("logs");
        let line = format!(
            "--config {file} --log-dir {} {} --tenant-header x-team --genai-metrics \
             --scrape-interval-ms 200",
            logs.display(),
            log.flag()
        );
        let (router, mut told) = (Plimsoll::start(&line).await, Told::default());
        traffic(&router, &mut told).await;
        changes(&router, &mut told).await;
        let given = posts(&engine);
        let bearer = format!("Bearer {WORKER_KEY}");
        assert!(!given.is_empty());
        assert!(given.iter().all(|request| request.header("authorization") == Some(&bearer)));

        for wrong in [
            text.replace("api-key", "api-keys"),
            text.replace("log-level = '", "log-level = "),
            text.replace("'sk-", "'sk \u{1b}"),
            text.replace("'sk-client-5ecret'", "['sk-client-5ecret']"),
            text.replace("http://127.0.0.1:1", "http://me:5ecret@127.0.0.1:1"),
        ] {
            let before = router.log().len();
            folder.put("plimsoll.toml", &wrong);
            router.signal("HUP").await;
            eventually(async || {
                let log = router.log()[before..].to_owned();
                if log.contains("stays as it was") { Ok(()) } else { Err(log) }
            })
            .await;
            let said = said(&format!("check --config {file}")).await;
            assert_eq!(said.code, Some(2), "{wrong}");
            told.hear("check", said.err);
        }
        for path in ["/", "/kv", "/kv?format=text", "/metrics", "/none"] {
            told.answer(path, &router.ask_metrics(path).send().await);
        }
        told.hear("the usage log", fs::read_to_string(log.path()).expect("the log"));
        told.hear("the log", router.log());
        for file in fs::read_dir(&logs).expect("the directory").flatten() {
            told.hear("the log's file", fs::read_to_string(file.path()).expect("text"));
        }
        told.assert_clean();
    })
    .await;
}
