//! A client that does not read holds up its engine, and nothing is heaped up between them.

use std::time::Duration;

use bytes::{BufMut, BytesMut};
use plimsoll_sim::replay::{ReplayServer, Reply};
use tokio::time::sleep;

use crate::support::{Pair, Plimsoll, bounded, chat, chunk, eventually, replay, stream_of};

const CHAT: &str = "/v1/chat/completions";

const EVENTS: usize = 2000;

const DONE: &str = "data: [DONE]\n\n";

/// How much the router may grow, in bytes: a sixth of the stream.
const GROWTH: u64 = 20_000_000;

/// How much of a stream may be on its way, in bytes: what the sockets of two connections hold.
const ON_ITS_WAY: u64 = 40_000_000;

/// An event of 60 kB.
fn event(number: usize) -> String {
    let text = "word ".repeat(12_000);
    format!(
        "data: {{\"choices\":[{{\"index\":0,\"delta\":{{\"content\":\"{number} {text}\"}}}}]}}\n\n"
    )
}

/// All of the stream.
fn reply() -> Reply {
    let events = (0..EVENTS).map(|number| chunk(&event(number)));
    let reply = events.fold(Reply::new().write(stream_of(&event(0))), Reply::write);
    reply.write(chunk(DONE)).write(chunk(""))
}

fn stream() -> BytesMut {
    let mut stream = BytesMut::new();
    [0].into_iter().chain(0..EVENTS).for_each(|number| stream.put(event(number).as_bytes()));
    stream.put(DONE.as_bytes());
    stream
}

/// How many bytes an engine could write, once it cannot write on.
async fn held_up(engine: &ReplayServer) -> u64 {
    eventually(async || {
        let before = engine.written();
        sleep(Duration::from_millis(500)).await;
        let written = engine.written();
        if written > 1_000_000 && written == before {
            Ok(written)
        } else {
            Err(written.to_string())
        }
    })
    .await
}

/// Reads nothing until the engine is held up, then everything.
async fn dawdle(router: &Plimsoll, engine: &ReplayServer) {
    let before = router.resident();
    let client = router.post(CHAT, chat(",\"stream\":true")).open().await;
    let written = held_up(engine).await;
    let growth = router.resident().saturating_sub(before);
    println!("{} events written, the router grew by {} kB", written / 60_000, growth / 1000);
    assert!(written < ON_ITS_WAY, "{written}");
    assert!(growth < GROWTH, "{growth}");

    let answer = client.rest().await;
    assert!(answer.complete && answer.body() == stream(), "other bytes");
    let page = router.settled(1).await;
    assert_eq!(page.outcomes("complete"), 1, "{page}");
    let growth = router.resident().saturating_sub(before);
    assert!(growth < GROWTH, "{growth} after all of it");
}

#[tokio::test]
async fn of_a_plain_worker() {
    bounded(async {
        let engine = replay(|_| reply()).await;
        let router = Plimsoll::start(&format!("--worker-urls {}", engine.url())).await;
        dawdle(&router, &engine).await;
    })
    .await;
}

#[tokio::test]
async fn of_a_pair() {
    bounded(async {
        let pair = Pair::start("", |_| Reply::json(200, "{}"), |_| reply()).await;
        dawdle(&pair.router, &pair.decode).await;
    })
    .await;
}
