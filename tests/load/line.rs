//! The line: its length, its patience and its order.

use std::time::Duration;

use plimsoll_sim::{
    SimConfig,
    replay::{Reply, Step},
};
use tokio::time::Instant;

use super::{CHAT, ENDLESS, refused, slow, streaming, waiting};
use crate::support::{Plimsoll, bounded, chat, posts, replay, sim};

#[tokio::test]
async fn who_finds_it_full_is_told_to_come_again() {
    bounded(async {
        let (router, engine) = slow("--max-concurrent-requests 1 --queue-size 2").await;
        let stream = streaming(&router, ENDLESS).await;
        let ask = |more: &str| router.post(CHAT, chat(&format!(",\"max_tokens\":1{more}"))).open();
        let (first, second) = (ask("").await, ask(",\"stream\":true").await);
        waiting(&router, 2).await;
        for more in ["", ",\"stream\":true"] {
            let answer = ask(more).await.rest().await;
            let message = refused(&answer, 429, "overloaded");
            assert!(message.contains("2 are waiting"), "{message}");
        }
        drop(stream);
        assert_eq!((first.rest().await.status, second.rest().await.status), (200, 200));
        let page = router.settled(5).await;
        assert_eq!((page.outcomes("rejected"), page.outcomes("complete")), (2, 2), "{page}");
        assert_eq!(engine.totals().requests, 3);
    })
    .await;
}

#[tokio::test]
async fn patience_ends() {
    bounded(async {
        let flags = "--max-concurrent-requests 1 --queue-timeout-secs 1";
        let (router, engine) = slow(flags).await;
        let stream = streaming(&router, ENDLESS).await;
        let asked = Instant::now();
        let answer = router.post(CHAT, chat("")).send().await;
        let waited = asked.elapsed().as_secs_f64();
        assert!((0.9..4.0).contains(&waited), "{waited} s");
        let message = refused(&answer, 503, "queue_timeout");
        assert!(message.contains("--queue-timeout-secs"), "{message}");
        drop(stream);
        let page = router.settled(2).await;
        assert_eq!((page.outcomes("rejected"), page.outcomes("client_disconnect")), (1, 1));
        assert_eq!(page.count("plimsoll_queue_depth", &[]), 0);
        assert_eq!(engine.totals().requests, 1);
    })
    .await;
}

#[tokio::test]
async fn first_come_first_served_and_who_leaves_makes_room() {
    bounded(async {
        let (router, engine) = slow("--max-concurrent-requests 1 --queue-size 4").await;
        let stream = streaming(&router, ENDLESS).await;
        let mut clients = Vec::new();
        for index in 0..4 {
            let more = format!(",\"max_tokens\":1,\"seed\":{index}");
            clients.push(Some(router.post(CHAT, chat(&more)).open().await));
            waiting(&router, index + 1).await;
        }
        // The line is full, until somebody leaves it: the first, and one amid it.
        clients[0] = None;
        clients[2] = None;
        waiting(&router, 2).await;
        let more = ",\"max_tokens\":1,\"seed\":4";
        clients.push(Some(router.post(CHAT, chat(more)).open().await));
        waiting(&router, 3).await;
        drop(stream);
        for client in clients.into_iter().flatten() {
            assert_eq!(client.rest().await.status, 200);
        }
        let seeds: Vec<_> = engine
            .requests()
            .iter()
            .skip(1)
            .map(|request| {
                let body: serde_json::Value = serde_json::from_slice(&request.body).expect("JSON");
                body["seed"].as_u64().expect("a number")
            })
            .collect();
        assert_eq!(seeds, [1, 3, 4]);
        let page = router.settled(6).await;
        assert_eq!((page.outcomes("complete"), page.outcomes("client_disconnect")), (3, 3));
    })
    .await;
}

/// A worker that goes while requests wait for it, and another that comes.
#[tokio::test]
async fn the_line_looks_for_others() {
    bounded(async {
        let (router, going) = slow("--worker-max-in-flight 1").await;
        let stream = streaming(&router, ENDLESS).await;
        let next = router.post(CHAT, chat(",\"max_tokens\":1")).open().await;
        waiting(&router, 1).await;
        let comes = sim(SimConfig::default()).await;
        let body = format!("{{\"url\":\"{}\"}}", comes.url());
        assert_eq!(router.post("/workers", body).send().await.status, 201);
        assert_eq!(next.rest().await.status, 200);
        assert_eq!((going.totals().requests, comes.totals().requests), (1, 1));
        drop(stream);
        router.settled(2).await;
    })
    .await;
}

/// One that was let in and is tried again stands not behind those who wait for it to end.
#[tokio::test]
async fn a_retry_is_in_already() {
    bounded(async {
        let busy = |_: &_| {
            let wait = Step::Wait(Duration::from_millis(400));
            Reply::new().then(wait).then(Step::Reset)
        };
        let (bad, well) = (replay(busy).await, replay(|_| Reply::json(200, "{}")).await);
        let line = format!(
            "--worker-urls {} {} --policy round_robin --max-concurrent-requests 1 \
             --queue-timeout-secs 10 --retry-initial-backoff-ms 1",
            bad.url(),
            well.url()
        );
        let router = Plimsoll::start(&line).await;
        router.page_when(|page| page.count("plimsoll_worker_eligible", &[]) == 2).await;
        let asked = Instant::now();
        // Whichever is the first, one of two comes to the bad one while another waits.
        let ask = || router.post(CHAT, chat(",\"max_tokens\":1")).send();
        let (first, second, third) = tokio::join!(ask(), ask(), ask());
        assert_eq!([first.status, second.status, third.status], [200; 3]);
        assert!(asked.elapsed() < Duration::from_secs(5), "{:?}", asked.elapsed());
        assert!(!posts(&bad).is_empty());
        let page = router.settled(3).await;
        let retried = page.count("plimsoll_retries_total", &[("reason", "reset")]);
        assert_eq!(retried, posts(&bad).len() as u64, "{page}");
    })
    .await;
}
