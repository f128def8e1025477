//! Clients that are connected when the process is to end: those that have nothing under way do not
//! hold it up, and those that have lose nothing.

use std::time::Duration;

use plimsoll_sim::replay::Reply;
use tokio::time::{Instant, sleep};

use super::{POST, frames::Frames, served, whole};
use crate::support::{Exchange, Plimsoll, bounded, chat, chunk, replay, stream_of};

/// The grace period is 180 s.
const AT_ONCE: Duration = Duration::from_secs(5);

#[tokio::test]
async fn who_is_silent_does_not_hold_it_up() {
    bounded(async {
        let (mut router, _engine) = served("").await;
        let mut kept = Vec::new();
        for next in ["", POST, "\r\n"] {
            let mut client = Exchange::raw(router.addr, whole("")).await;
            assert_eq!(client.whole().await.status, 200);
            client.push(next).await;
            kept.push(client);
        }
        for begun in ["", "P", "PRI * HTT", POST, &format!("{POST}x-a: ")] {
            kept.push(Exchange::raw(router.addr, begun).await);
        }
        let mut frames = [Frames::open(router.addr).await, Frames::open(router.addr).await];
        // One has had an answer.
        frames[0].ask(1, "/health", true).await;
        frames[0].until(|frame| frame.is_end_of(1)).await;
        let asked = Instant::now();
        router.signal("TERM").await;
        assert_eq!(router.ended().await.code(), Some(0));
        assert!(asked.elapsed() < AT_ONCE, "{:?}", asked.elapsed());
        drop((kept, frames));
    })
    .await;
}

/// An answer that is whole, but not all of it with its client, is waited for.
#[tokio::test]
async fn who_is_slow_to_read_gets_all_of_it() {
    bounded(async {
        let event = format!("data: {{\"x\":\"{}\"}}\n\n", "y".repeat(60_000));
        let events = event.clone();
        let reply = move |_: &_| {
            let reply = Reply::new().write(stream_of(&events));
            let reply = (0..199).fold(reply, |reply, _| reply.write(chunk(&events)));
            reply.write(chunk("data: [DONE]\n\n")).write(chunk(""))
        };
        let engine = replay(reply).await;
        let mut router = Plimsoll::start(&format!("--worker-urls {}", engine.url())).await;
        let client = router.post("/v1/completions", chat(",\"stream\":true")).open().await;
        engine.wait_requests(1).await;
        sleep(Duration::from_millis(500)).await;
        router.signal("TERM").await;
        router.logged("stopping").await;
        // Longer than who has nothing under way may stay.
        sleep(Duration::from_secs(2)).await;
        let answer = client.rest().await;
        assert!(answer.complete, "it was cut off");
        assert_eq!(answer.body().len(), 200 * event.len() + "data: [DONE]\n\n".len());
        assert_eq!(router.ended().await.code(), Some(0));
    })
    .await;
}
