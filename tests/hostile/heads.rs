//! Answers of engines whose heads are none, have no end, or come before their time.

use std::time::Duration;

use bytes::Bytes;
use plimsoll_sim::replay::{Reply, Step};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::sleep,
};

use super::{ANSWER, CHAT, Rogue, assert_well};
use crate::support::{Plimsoll, bounded, chat, replay};

const ONCE: &str = "--disable-retries --cb-failure-threshold 100";

/// Heads, each with what is said of it.
const HEADS: [(&str, &str); 16] = [
    ("SSH-2.0-OpenSSH_9.6\r\n\r\n", "invalid HTTP version"),
    ("HTTP/3.0 200 OK\r\n\r\n", "invalid HTTP version"),
    ("<html>no</html>\r\n\r\n", "invalid HTTP version"),
    ("{\"answer\":1}\n\n", "invalid HTTP version"),
    ("\x16\x03\x01\x02\0\x01\0\r\n\r\n", "invalid HTTP version"),
    ("HTTP/1.1 abc OK\r\n\r\n", "invalid HTTP status-code"),
    ("HTTP/1.1 2000 OK\r\n\r\n", "invalid HTTP status-code"),
    ("HTTP/1.1 099 OK\r\n\r\n", "invalid HTTP status-code"),
    ("HTTP/1.1 200 OK\r\nno colon\r\n\r\n", "invalid HTTP header"),
    ("HTTP/1.1 200 OK\r\nx-a: b\r\n c\r\n\r\n", "invalid HTTP header"),
    ("HTTP/1.1 200 OK\r\nx-a: b\0c\r\n\r\n", "invalid HTTP header"),
    ("HTTP/1.1 200 OK\r\nx a: b\r\n\r\n", "invalid HTTP header"),
    ("HTTP/1.1 200 OK\r\ncontent-length: x\r\n\r\n", "invalid content-length"),
    ("HTTP/1.1 200 OK\r\ncontent-length: -1\r\n\r\n", "invalid content-length"),
    (
        "HTTP/1.1 200 OK\r\ncontent-length: 2\r\ncontent-length: 3\r\n\r\n{}",
        "invalid content-length",
    ),
    ("HTTP/1.1 200 OK\r\ncontent-length: 99999999999999999999\r\n\r\n", "invalid content-length"),
];

#[tokio::test]
async fn what_is_wrong_with_a_head_is_said() {
    bounded(async {
        for (head, wanted) in HEADS {
            let engine = replay(move |_| Reply::new().write(head).then(Step::Close)).await;
            let line = format!("--worker-urls {} {ONCE}", engine.url());
            let router = Plimsoll::start(&line).await;
            let answer = router.post(CHAT, chat("")).send().await;
            assert_eq!(answer.status, 502, "{head:?}");
            let error = answer.error();
            assert!(error.contains(wanted) && error.contains(&engine.url()), "{head:?}: {error}");
            router.logged(wanted).await;
            let page = router.settled(1).await;
            assert_eq!(page.count("plimsoll_attempts_total", &[("result", "reset")]), 1);
        }
    })
    .await;
}

#[tokio::test]
async fn a_head_without_end_is_too_large() {
    bounded(async {
        let line = Bytes::from(format!("x-a: {}\r\n", "b".repeat(60_000)).repeat(16));
        let value = Bytes::from("b".repeat(1 << 20));
        let many: String = (0..200).map(|number| format!("x-{number}: a\r\n")).collect();
        for more in [line, value, Bytes::from(many)] {
            let reply = move |_: &_| {
                let reply = Reply::new().write("HTTP/1.1 200 OK\r\nx-a: ");
                let reply = (0..256).fold(reply, |reply, _| reply.write(more.clone()));
                reply.then(Step::WaitForClose)
            };
            let engine = replay(reply).await;
            let line = format!("--worker-urls {} {ONCE}", engine.url());
            let router = Plimsoll::start(&line).await;
            let before = router.resident();
            let answer = router.post(CHAT, chat("")).send().await;
            assert_eq!(answer.status, 502);
            assert!(answer.error().contains("message head is too large"), "{}", answer.error());
            router.logged("message head is too large").await;
            assert_well(&router, before, 16 << 20).await;
        }
    })
    .await;
}

/// What is no answer yet is passed over, but not without end.
#[tokio::test]
async fn a_flood_of_interim_answers_is_no_head() {
    bounded(async {
        let engine = Rogue::start(async |mut stream| {
            let hints = "HTTP/1.1 103 Early Hints\r\nlink: </a>\r\n\r\n".repeat(1000);
            while stream.write_all(hints.as_bytes()).await.is_ok() {}
        })
        .await;
        let router = Plimsoll::start(&format!("--worker-urls {} {ONCE}", engine.url())).await;
        let before = router.resident();
        for _ in 0..10 {
            let answer = router.post(CHAT, chat("")).send().await;
            assert_eq!(answer.status, 502);
            let error = answer.error();
            assert!(error.contains("too much came before the answer's head"), "{error}");
        }
        router.logged("too much came before the answer's head").await;
        assert_well(&router, before, 16 << 20).await;
    })
    .await;
}

/// A few of them are what they should be: nothing.
#[tokio::test]
async fn interim_answers_are_passed_over() {
    bounded(async {
        let interim = "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nx-a: b\r\n\r\n";
        let length = ANSWER.len();
        let whole = format!("{interim}HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{ANSWER}");
        let engine = replay(move |_| Reply::new().write(whole.clone())).await;
        let router = Plimsoll::start(&format!("--worker-urls {}", engine.url())).await;
        for _ in 0..3 {
            let answer = router.post(CHAT, chat("")).send().await;
            assert_eq!((answer.status, answer.text().as_str()), (200, ANSWER));
            assert_eq!(answer.header("x-a"), None);
        }
    })
    .await;
}

/// Answers so before it has read the body, and is gone, as uvicorn is behind a limit on bodies.
async fn refuse(mut stream: TcpStream, is_reset: bool) {
    let body = "{\"object\":\"error\",\"message\":\"too long, sorry\",\"code\":400}";
    let head = "HTTP/1.1 400 Bad Request\r\nx-engine: mine\r\ncontent-type: application/json";
    let answer = format!("{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
    // Some of it is under way.
    let _ = stream.read(&mut [0; 1000]).await;
    let _ = stream.write_all(answer.as_bytes()).await;
    if is_reset {
        let _ = stream.set_zero_linger();
    } else {
        let _ = stream.shutdown().await;
    }
}

/// The answer that came stands, though the rest of the request could not be sent.
#[tokio::test]
async fn an_early_refusal_is_the_answer() {
    bounded(async {
        let body = format!("{{\"prompt\":\"{}\"}}", "x".repeat(10 << 20));
        let closing = Rogue::start(|stream| refuse(stream, false)).await;
        let resetting = Rogue::start(|stream| refuse(stream, true)).await;
        for (engine, is_sure) in [(closing, true), (resetting, false)] {
            let line = format!("--worker-urls {} --cb-failure-threshold 1", engine.url());
            let router = Plimsoll::start(&line).await;
            for _ in 0..10 {
                let answer = router.post("/v1/completions", body.clone()).send().await;
                assert_eq!((answer.status, answer.complete), (400, true), "{}", answer.text());
                assert_eq!(answer.header("x-engine"), Some("mine"));
                assert!(answer.text().contains("too long, sorry"));
            }
            println!("asked {} times, {is_sure}", engine.asked());
            let page = router.settled(10).await;
            assert_eq!(page.count("plimsoll_attempts_total", &[("result", "status_4xx")]), 10);
            assert_eq!(page.count("plimsoll_attempts_total", &[("result", "reset")]), 0, "{page}");
            assert_eq!(page.count("plimsoll_worker_breaker_state", &[]), 0);
            assert_eq!(engine.asked(), 10);
        }
    })
    .await;
}

/// A worker that is gone without a word has said nothing.
#[tokio::test]
async fn who_leaves_amid_a_request_has_not_answered() {
    bounded(async {
        let engine = Rogue::start(async |mut stream| {
            let _ = stream.read(&mut [0; 1000]).await;
            let _ = stream.set_zero_linger();
        })
        .await;
        let router = Plimsoll::start(&format!("--worker-urls {} {ONCE}", engine.url())).await;
        let body = format!("{{\"prompt\":\"{}\"}}", "x".repeat(10 << 20));
        let answer = router.post("/v1/completions", body).send().await;
        assert_eq!(answer.status, 502);
        assert!(answer.error().contains("closed the connection before it answered"));
        let page = router.settled(1).await;
        assert_eq!(page.count("plimsoll_attempts_total", &[("result", "reset")]), 1);
    })
    .await;
}

/// Early, and nothing closed: the connection cannot be used for another request.
#[tokio::test]
async fn an_early_answer_ends_its_connection() {
    bounded(async {
        let engine = Rogue::start(async |mut stream| {
            let length = ANSWER.len();
            let answer = format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{ANSWER}");
            let _ = stream.write_all(answer.as_bytes()).await;
            // Whoever sends on is not answered.
            let mut bytes = vec![0; 1 << 20];
            sleep(Duration::from_millis(500)).await;
            while stream.read(&mut bytes).await.is_ok_and(|read| read > 0) {}
        })
        .await;
        let router = Plimsoll::start(&format!("--worker-urls {} {ONCE}", engine.url())).await;
        let body = format!("{{\"prompt\":\"{}\"}}", "x".repeat(10 << 20));
        for count in 1..4 {
            let answer = router.post("/v1/completions", body.clone()).send().await;
            assert_eq!((answer.status, answer.text().as_str()), (200, ANSWER));
            assert_eq!(engine.asked(), count);
        }
    })
    .await;
}
