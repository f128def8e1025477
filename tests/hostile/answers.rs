//! Bodies of answers that lie about their length, have no end, or hold more than they seem to.

use std::{io::Write, time::Duration};

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use plimsoll_sim::replay::{Reply, Step};

use super::{ANSWER, CHAT, assert_well, good};
use crate::support::{Plimsoll, bounded, chat, posts, replay, within};

const MIB: usize = 1 << 20;

/// What may be kept of one answer: an event in two places, and what is on its way.
const KEPT: u64 = 40 << 20;

fn head(more: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n{more}\r\n\r\n")
}

fn stream_head() -> &'static str {
    "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
}

/// These bytes as a chunk.
fn chunk(bytes: &[u8]) -> Bytes {
    [format!("{:x}\r\n", bytes.len()).as_bytes(), bytes, b"\r\n"].concat().into()
}

async fn before(reply: impl Fn() -> Reply + Send + Sync + 'static) -> Plimsoll {
    let engine = replay(move |_| reply()).await;
    let router = Plimsoll::start(&format!("--worker-urls {}", engine.url())).await;
    // It lives as long as the test.
    std::mem::forget(engine);
    router
}

#[tokio::test]
async fn less_than_was_stated_is_cut_off() {
    bounded(async {
        for length in [ANSWER.len() + 1, 1 << 30, u64::MAX as usize >> 1] {
            let head = head(&format!("content-length: {length}"));
            let reply = move || Reply::new().write(format!("{head}{ANSWER}")).then(Step::Close);
            let router = before(reply).await;
            let client = router.post(CHAT, chat("")).open().await;
            assert!(client.ends_cut().await, "{length}");
            router.logged("broke off its answer").await;
            let page = router.settled(1).await;
            assert_eq!(page.outcomes("upstream_error"), 1, "{page}");
        }
    })
    .await;
}

/// The event that says so is no part of what was stated.
#[tokio::test]
async fn less_than_a_stream_stated_ends_by_a_whole_event() {
    bounded(async {
        let event = "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\"}}]}\n\n";
        for missing in [1, 50, 190, 1000] {
            let head = stream_head().replace(
                "transfer-encoding: chunked",
                &format!("content-length: {}", event.len() + missing),
            );
            let reply = move || Reply::new().write(format!("{head}{event}")).then(Step::Close);
            let router = before(reply).await;
            let answer = router.post(CHAT, "{\"model\":\"m\"}").send().await;
            let text = answer.text();
            assert_eq!((answer.status, answer.header("content-length")), (200, None));
            assert!(text.starts_with(event) && text.ends_with("}}\n\n"), "{missing}: {text}");
            assert!(text.contains("broke off its answer"), "{missing}: {text}");
            assert_eq!(router.settled(1).await.outcomes("upstream_error"), 1);
        }
    })
    .await;
}

/// The client would wait for what does not come, or take the next answer for it.
#[tokio::test]
async fn an_empty_answer_has_no_length() {
    bounded(async {
        let reply = || Reply::new().write("HTTP/1.1 204 X\r\ncontent-length: 7\r\n\r\n");
        let router = before(reply).await;
        for _ in 0..2 {
            let answer = router.post(CHAT, chat("")).send().await;
            assert_eq!((answer.status, answer.header("content-length")), (204, None));
        }
    })
    .await;
}

/// What is behind the stated end is nobody's answer.
#[tokio::test]
async fn more_than_was_stated_is_no_answer() {
    bounded(async {
        let engine = replay(|request| match &request.body[..] {
            body if body.ends_with(b"\"first\"}") => {
                let whole =
                    format!("{}{ANSWER}", head(&format!("content-length: {}", ANSWER.len())));
                let other = whole.replace("replay", "others");
                Reply::new().write(format!("{whole}{other}"))
            }
            _ => good(),
        })
        .await;
        let router = Plimsoll::start(&format!("--worker-urls {}", engine.url())).await;
        for _ in 0..5 {
            for name in ["first", "second"] {
                let answer = router.post(CHAT, format!("{{\"model\":\"{name}\"}}")).send().await;
                assert_eq!((answer.status, answer.text().as_str()), (200, ANSWER));
            }
        }
        assert_eq!(posts(&engine).len(), 10);
        assert_eq!(router.settled(10).await.outcomes("complete"), 10);
    })
    .await;
}

#[tokio::test]
async fn chunks_that_are_none_are_named() {
    bounded(async {
        for bad in ["xyz\r\n", "-1\r\n", "ffffffffffffffff0\r\nx", "5\r\nwords", "3;\n"] {
            let event = chunk(b"data: {\"choices\":[]}\n\n");
            let reply = move || {
                let reply = Reply::new().write(stream_head()).write(event.clone());
                reply.write(bad).then(Step::Close)
            };
            let router = before(reply).await;
            let answer = router.post(CHAT, chat(",\"stream\":true")).send().await;
            let text = answer.text();
            assert!(answer.complete && !text.contains("[DONE]"), "{bad:?}: {text}");
            assert!(text.contains("broke off its answer: "), "{bad:?}: {text}");
            assert_eq!(router.settled(1).await.outcomes("upstream_error"), 1);
        }
    })
    .await;
}

/// A line, an event and an answer that are too large to be kept pass, and are not kept.
#[tokio::test]
async fn what_has_no_end_passes() {
    within(Duration::from_secs(120), async {
        let piece = "word ".repeat(MIB / 5);
        let starts =
            ["data: {\"choices\":[{\"delta\":{\"content\":\"", ": ", "", "data: 1\ndata: "];
        for start in starts {
            let (first, more) = (chunk(format!("{start}x").as_bytes()), chunk(piece.as_bytes()));
            let reply = move || {
                let reply = Reply::new().write(stream_head()).write(first.clone());
                let reply = (0..32).fold(reply, |reply, _| reply.write(more.clone()));
                reply.write("0\r\n\r\n")
            };
            let router = before(reply).await;
            let before = router.resident();
            let client = router.post(CHAT, chat(",\"stream\":true")).open().await;
            let length = client.measure().await;
            assert!(length > 32 * piece.len() as u64, "{length}");
            assert_well(&router, before, KEPT).await;
            assert_eq!(router.settled(1).await.outcomes("truncated"), 1);
        }
    })
    .await;
}

#[tokio::test]
async fn a_json_answer_without_end_passes() {
    within(Duration::from_secs(120), async {
        let piece = chunk("1,".repeat(MIB / 2).as_bytes());
        let reply = move || {
            let reply = Reply::new().write(head("transfer-encoding: chunked"));
            let reply = reply.write(chunk(b"{\"x\":["));
            let reply = (0..64).fold(reply, |reply, _| reply.write(piece.clone()));
            reply.write(chunk(b"1]}")).write("0\r\n\r\n")
        };
        let router = before(reply).await;
        let before = router.resident();
        let client = router.post(CHAT, chat("")).open().await;
        assert!(client.measure().await > 64 * (MIB as u64 - 2));
        // The first 32 MB are kept for their counts, in a buffer that may have grown to twice that.
        assert_well(&router, before, 112 << 20).await;
        let page = router.settled(1).await;
        assert_eq!(
            page.count("plimsoll_usage_total", &[("completeness", "unreadable")]),
            1,
            "{page}"
        );
    })
    .await;
}

/// A gibibyte of zeros in a megabyte.
pub(super) fn bomb() -> Bytes {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&vec![0; MIB]).expect("memory");
    encoder.finish().expect("memory").repeat(1024).into()
}

#[tokio::test]
async fn a_bomb_stays_packed() {
    bounded(async {
        let bomb = bomb();
        let (length, sent) = (bomb.len(), bomb.clone());
        let reply = move || {
            let head = head(&format!("content-encoding: gzip\r\ncontent-length: {length}"));
            Reply::new().write(head).write(sent.clone())
        };
        let router = before(reply).await;
        let before = router.resident();
        for more in ["", ",\"stream\":true"] {
            let answer = router.post(CHAT, chat(more)).send().await;
            assert!(answer.complete && answer.body() == bomb, "other bytes");
        }
        assert_well(&router, before, 16 << 20).await;
        let page = router.settled(2).await;
        assert_eq!(page.count("plimsoll_usage_total", &[("completeness", "unreadable")]), 2);
    })
    .await;
}

/// Where an engine points to is the client's affair: nobody is asked on its behalf.
#[tokio::test]
async fn a_redirect_is_not_followed() {
    bounded(async {
        let other = replay(|_| good()).await;
        let to = format!("{}{CHAT}", other.url());
        let reply = move || {
            let head = format!("HTTP/1.1 307 Temporary Redirect\r\nlocation: {to}\r\n");
            Reply::new().write(format!("{head}content-length: 0\r\n\r\n"))
        };
        let router = before(reply).await;
        let answer = router.post(CHAT, chat("")).send().await;
        assert_eq!(answer.status, 307);
        assert!(answer.header("location").is_some_and(|to| to.starts_with(&other.url())));
        assert_eq!(other.requests().len(), 0);
    })
    .await;
}
