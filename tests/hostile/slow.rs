//! Clients that take their time: heads and bodies that do not come to an end.

use std::time::Duration;

use futures_util::future::join_all;
use tokio::time::{Instant, interval, sleep};

use super::{BODY, CHAT, POST, served, statuses, whole};
use crate::support::{Exchange, Plimsoll, bounded, posts, within};

/// How long a head may take, whatever the flags.
const HEAD: Duration = Duration::from_secs(30);

/// A time limit that a test can wait for.
const QUICK: &str = "--request-timeout-secs 1";

/// Sends a byte each half a second, for as long as it is taken.
async fn dribble(mut client: Exchange, bytes: &str) -> (Duration, String) {
    let (since, mut pace) = (Instant::now(), interval(Duration::from_millis(500)));
    for byte in bytes.as_bytes() {
        pace.tick().await;
        if !client.push([*byte]).await {
            break;
        }
    }
    (since.elapsed(), String::new())
}

async fn closed(client: Exchange) -> (Duration, String) {
    let since = Instant::now();
    // An answer is waited for 20 s at most; the first half of the time nothing can come.
    sleep(HEAD / 2).await;
    let text = client.all().await;
    (since.elapsed(), text)
}

#[tokio::test]
async fn a_head_that_does_not_end_ends_the_connection() {
    within(Duration::from_secs(80), async {
        let (router, engine) = served("").await;
        let after_one = async |next: &str| {
            let mut client = Exchange::raw(router.addr, whole("")).await;
            assert_eq!(client.whole().await.status, 200);
            client.push(next).await;
            client
        };
        let silent = [
            Exchange::raw(router.addr, "").await,
            Exchange::raw(router.addr, "PRI * HTT").await,
            Exchange::raw(router.addr, POST).await,
            Exchange::raw(router.metrics_addr, "").await,
            Exchange::raw(router.metrics_addr, "GET /metrics HTTP/1.1\r\n").await,
            after_one(POST).await,
            // Kept for another request: not for longer either.
            after_one("").await,
        ];
        let client = Exchange::raw(router.addr, POST).await;
        let long = "x-a: b\r\n".repeat(20);
        let (silent, dribbling) =
            tokio::join!(join_all(silent.map(closed)), dribble(client, &long));
        for (waited, _) in silent.into_iter().chain([dribbling]) {
            let waited = waited.as_secs_f64();
            assert!((28.0..60.0).contains(&waited), "{waited} s");
        }
        assert_eq!(posts(&engine).len(), 2);
        assert_eq!(router.settled(2).await.outcomes("complete"), 2);
    })
    .await;
}

/// The beginnings of requests whose bodies do not go on.
fn stalled() -> [String; 5] {
    let chunked = format!("{POST}transfer-encoding: chunked\r\n\r\n");
    [
        format!("{POST}content-length: 13\r\n\r\n"),
        format!("{POST}content-length: 13\r\n\r\n{}", &BODY[..12]),
        format!("{POST}content-length: 300000000\r\n\r\n{BODY}"),
        format!("{chunked}d\r\n{}", &BODY[..5]),
        format!("{chunked}d\r\n{BODY}\r\n"),
    ]
}

#[track_caller]
fn assert_timed_out(text: &str) {
    assert_eq!(statuses(text), ["408"], "{text}");
    assert!(text.contains("\"code\":\"request_timeout\""), "{text}");
}

#[tokio::test]
async fn a_body_that_stalls_is_a_408() {
    bounded(async {
        let (router, engine) = served(QUICK).await;
        for path in [CHAT, "/generate", "/v1/embeddings"] {
            let asked = Instant::now();
            let texts = join_all(stalled().map(async |request| {
                let request = request.replace(CHAT, path);
                Exchange::raw(router.addr, request).await.all().await
            }))
            .await;
            texts.iter().for_each(|text| assert_timed_out(text));
            let waited = asked.elapsed().as_secs_f64();
            assert!((0.9..5.0).contains(&waited), "{waited} s");
        }
        assert_eq!(posts(&engine).len(), 0);
        let page = router.settled(15).await;
        let labels = [("outcome", "client_error"), ("code", "408")];
        assert_eq!(page.count("plimsoll_requests_total", &labels), 15, "{page}");
    })
    .await;
}

/// What asks for its body to be sent and does not get it, and what is not for engines.
#[tokio::test]
async fn other_bodies_that_stall_are_a_408() {
    bounded(async {
        let (router, engine) = served(QUICK).await;
        let head = format!("{POST}expect: 100-continue\r\ncontent-length: 13\r\n\r\n");
        let text = Exchange::raw(router.addr, head).await.all().await;
        assert_eq!(statuses(&text), ["100", "408"], "{text}");
        let head = "POST /workers HTTP/1.1\r\nhost: router\r\ncontent-length: 9\r\n\r\n{";
        assert_timed_out(&Exchange::raw(router.addr, head).await.all().await);
        assert_eq!(posts(&engine).len(), 0);
    })
    .await;
}

/// A byte now and then is no body.
#[tokio::test]
async fn a_body_that_trickles_is_a_408() {
    bounded(async {
        let (router, engine) = served(QUICK).await;
        let head = format!("{POST}content-length: 90000\r\n\r\n");
        let mut client = Exchange::raw(router.addr, head).await;
        let (asked, mut pace) = (Instant::now(), interval(Duration::from_millis(50)));
        while client.push("x").await {
            pace.tick().await;
        }
        let waited = asked.elapsed().as_secs_f64();
        assert!((0.9..6.0).contains(&waited), "{waited} s");
        assert_eq!(posts(&engine).len(), 0);
        let page = router.settled(1).await;
        assert_eq!(page.count("plimsoll_requests_total", &[("code", "408")]), 1, "{page}");
    })
    .await;
}

/// The limit is on silence and on pace, not on the whole.
#[tokio::test]
async fn a_slow_body_that_goes_on_is_served() {
    bounded(async {
        let (router, engine) = served(QUICK).await;
        let body = format!("{{\"model\":\"{}\"}}", "m".repeat(40_000));
        let head = format!("{POST}connection: close\r\ncontent-length: {}\r\n\r\n", body.len());
        let mut client = Exchange::raw(router.addr, head).await;
        for piece in body.as_bytes().chunks(5000) {
            sleep(Duration::from_millis(300)).await;
            client.push(piece).await;
        }
        assert_eq!(statuses(&client.all().await), ["200"]);
        assert_eq!(posts(&engine)[0].body, body);
    })
    .await;
}

/// Who stalls has no room that others wait for.
#[tokio::test]
async fn bodies_that_stall_take_no_room() {
    bounded(async {
        let (router, engine): (Plimsoll, _) = served("--max-concurrent-requests 1").await;
        let stalled = stalled().map(async |request| Exchange::raw(router.addr, request).await);
        let stalled = join_all(stalled).await;
        let text = Exchange::raw(router.addr, whole("connection: close\r\n")).await.all().await;
        assert_eq!((statuses(&text), posts(&engine).len()), (vec!["200"], 1));
        drop(stalled);
        assert_eq!(router.settled(6).await.outcomes("client_disconnect"), 5);
    })
    .await;
}
