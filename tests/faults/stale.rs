//! A kept connection that died meanwhile is no failure of its worker.

use std::sync::atomic::{AtomicUsize, Ordering};

use plimsoll_sim::{SeenRequest, replay::Reply};

use super::{CHAT, IN_TURN, QUICK, attempts, breaker, good, reset, retries, silent};
use crate::support::{Call, Pair, Plimsoll, bounded, chat, posts, replay, room_of};

/// An engine that answers the first request, and resets the connection of the second.
fn dies_once() -> impl Fn(&SeenRequest) -> Reply + Send + Sync + 'static {
    let asked = AtomicUsize::new(0);
    move |_| match asked.fetch_add(1, Ordering::Relaxed) {
        1 => reset(),
        _ => good(),
    }
}

/// A request on a connection that is kept: one connection has one serving thread, and that thread
/// its own connections to workers.
fn kept(router: &Plimsoll) -> Call {
    router.post(CHAT, chat("")).header("connection", "keep-alive")
}

#[tokio::test]
async fn it_is_tried_once_more_on_a_new_one() {
    bounded(async {
        let engine = replay(dies_once()).await;
        let flags = format!("{IN_TURN} --disable-retries --cb-failure-threshold 1");
        let router = Plimsoll::start(&format!("--worker-urls {} {flags}", engine.url())).await;
        let mut client = kept(&router).open().await;
        assert_eq!(client.whole().await.status, 200);
        client.ask(kept(&router)).await;
        let answer = client.whole().await;
        assert_eq!((answer.status, &*answer.text()), (200, super::ANSWER));
        assert_eq!(posts(&engine).len(), 3);
        let page = router.settled(2).await;
        assert_eq!(retries(&page, "stale_connection"), 1, "{page}");
        assert_eq!(page.count("plimsoll_retries_total", &[]), 1);
        assert_eq!(attempts(&page, &engine.url(), "ok"), 2);
        assert_eq!(breaker(&page, &engine.url()), 0);
        assert_eq!(page.outcomes("complete"), 2);
    })
    .await;
}

/// Of two workers the same one is asked again, which has the prompt in its cache.
#[tokio::test]
async fn it_is_tried_at_the_same_worker() {
    bounded(async {
        let (first, second) = (replay(dies_once()).await, replay(dies_once()).await);
        let line = format!("--worker-urls {} {} {IN_TURN} {QUICK}", first.url(), second.url());
        let router = Plimsoll::start(&line).await;
        super::all_up(&router, 2).await;
        let mut client = kept(&router).open().await;
        assert_eq!(client.whole().await.status, 200);
        client.ask(kept(&router)).await;
        assert_eq!(client.whole().await.status, 200);
        // Both have a connection that is kept, and the next request dies with its one.
        client.ask(kept(&router)).await;
        assert_eq!(client.whole().await.status, 200);
        let mut asked = [posts(&first).len(), posts(&second).len()];
        asked.sort_unstable();
        assert_eq!(asked, [1, 3]);
        assert_eq!(retries(&router.settled(3).await, "stale_connection"), 1);
    })
    .await;
}

/// Of a pair both legs are sent anew: the room of the first is lost with it.
#[tokio::test]
async fn a_pair_is_asked_once_more() {
    bounded(async {
        let pair = Pair::start(IN_TURN, |_| good(), dies_once()).await;
        let mut client = kept(&pair.router).open().await;
        assert_eq!(client.whole().await.status, 200);
        client.ask(kept(&pair.router)).await;
        assert_eq!(client.whole().await.status, 200);
        let legs = pair.legs(3).await;
        assert_ne!(room_of(&legs[1]), room_of(&legs[2]));
        let page = pair.router.settled(2).await;
        assert_eq!(retries(&page, "stale_connection"), 1, "{page}");
        assert_eq!(page.count("plimsoll_worker_breaker_state", &[]), 0);
    })
    .await;
}

/// A new connection that dies is the worker's failure.
#[tokio::test]
async fn not_twice() {
    bounded(async {
        let asked = AtomicUsize::new(0);
        let engine = replay(move |_| match asked.fetch_add(1, Ordering::Relaxed) {
            0 => good(),
            1 | 2 => reset(),
            _ => silent(),
        })
        .await;
        let line = format!("--worker-urls {} {IN_TURN} {QUICK}", engine.url());
        let router = Plimsoll::start(&line).await;
        let mut client = kept(&router).open().await;
        assert_eq!(client.whole().await.status, 200);
        client.ask(kept(&router)).await;
        let answer = client.whole().await;
        assert_eq!(answer.status, 502);
        assert!(answer.error().contains(&engine.url()), "{}", answer.text());
        assert_eq!(posts(&engine).len(), 3);
        let page = router.settled(2).await;
        assert_eq!((retries(&page, "stale_connection"), retries(&page, "reset")), (1, 0), "{page}");
        assert_eq!(attempts(&page, &engine.url(), "reset"), 2);
    })
    .await;
}
