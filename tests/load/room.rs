//! `--max-concurrent-requests` and `--rate-limit-tokens-per-second`.

use std::time::Duration;

use futures_util::future::join_all;
use plimsoll_sim::SimConfig;
use tokio::time::Instant;

use super::{CHAT, ENDLESS, refused, slow, streaming, waiting};
use crate::support::{Plimsoll, bounded, chat, sim};

#[tokio::test]
async fn a_stream_counts_until_its_end() {
    bounded(async {
        let (router, engine) = slow("--max-concurrent-requests 1").await;
        let stream =
            streaming(&router, ",\"stream\":true,\"max_tokens\":60,\"ignore_eos\":true").await;
        let next = router.post(CHAT, chat(",\"max_tokens\":1")).open().await;
        waiting(&router, 1).await;
        assert_eq!(engine.totals().requests, 1, "its head is long out, its body is not");
        let streamed = stream.rest().await;
        assert!(streamed.text().ends_with("data: [DONE]\n\n"));
        assert_eq!(next.rest().await.status, 200);
        let page = router.settled(2).await;
        assert_eq!((page.outcomes("complete"), page.count("plimsoll_queue_depth", &[])), (2, 0));
        assert_eq!(page.count("plimsoll_queue_wait_seconds_count", &[]), 1);
        assert!(page.sum("plimsoll_queue_wait_seconds_sum", &[]) > 0.05, "{page}");
        assert_eq!(engine.totals().finished, 2);
    })
    .await;
}

#[tokio::test]
async fn never_more_than_told() {
    bounded(async {
        let (router, engine) = slow("--max-concurrent-requests 3").await;
        let ask = || router.post(CHAT, chat(",\"max_tokens\":10")).send();
        let all = join_all((0..24).map(|_| ask()));
        let mut most = 0;
        let watched = async {
            while engine.totals().finished < 24 {
                most = most.max(engine.totals().open);
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        };
        let (answers, ()) = tokio::join!(all, watched);
        assert!(answers.iter().all(|answer| answer.status == 200));
        assert_eq!(most, 3);
        assert_eq!(router.settled(24).await.outcomes("complete"), 24);
    })
    .await;
}

#[tokio::test]
async fn a_second_has_so_many() {
    bounded(async {
        let engine = sim(SimConfig::default()).await;
        let flags = "--rate-limit-tokens-per-second 5";
        let router = Plimsoll::start(&format!("--worker-urls {} {flags}", engine.url())).await;
        let since = Instant::now();
        let ask = || router.post(CHAT, chat(",\"max_tokens\":1")).send();
        let answers = join_all((0..11).map(|_| ask())).await;
        assert!(answers.iter().all(|answer| answer.status == 200));
        // Five at once, the rest by a fifth of a second each.
        let took = since.elapsed().as_secs_f64();
        assert!((1.1..5.0).contains(&took), "{took} s");
        let page = router.settled(11).await;
        assert!(page.count("plimsoll_queue_wait_seconds_count", &[]) >= 5, "{page}");
    })
    .await;
}

#[tokio::test]
async fn beyond_the_rate_without_a_line() {
    bounded(async {
        let engine = sim(SimConfig::default()).await;
        let flags = "--rate-limit-tokens-per-second 1 --queue-size 0";
        let router = Plimsoll::start(&format!("--worker-urls {} {flags}", engine.url())).await;
        let ask = || router.post(CHAT, chat(",\"max_tokens\":1")).send();
        let answers = join_all((0..6).map(|_| ask())).await;
        let (served, others): (Vec<_>, Vec<_>) =
            answers.into_iter().partition(|answer| answer.status == 200);
        assert!(!served.is_empty() && others.len() >= 3, "{} served", served.len());
        for answer in &others {
            let message = refused(answer, 429, "overloaded");
            assert!(message.contains("--queue-size"), "{message}");
        }
        assert_eq!(engine.totals().requests, served.len() as u64);
        let page = router.settled(6).await;
        assert_eq!(page.outcomes("rejected"), others.len() as u64);
    })
    .await;
}

/// A limit of workers is one of each of them.
#[tokio::test]
async fn each_worker_has_its_own_limit() {
    bounded(async {
        let config = SimConfig::default().token_interval(Duration::from_millis(10));
        let (first, second) = (sim(config.clone()).await, sim(config).await);
        let line = format!(
            "--worker-urls {} {} --policy round_robin --worker-max-in-flight 1",
            first.url(),
            second.url()
        );
        let router = Plimsoll::start(&line).await;
        router.page_when(|page| page.count("plimsoll_worker_eligible", &[]) == 2).await;
        let one = streaming(&router, ENDLESS).await;
        let other = streaming(&router, ENDLESS).await;
        let third = router.post(CHAT, chat(",\"max_tokens\":1")).open().await;
        waiting(&router, 1).await;
        assert_eq!((first.totals().open, second.totals().open), (1, 1));
        drop(one);
        assert_eq!(third.rest().await.status, 200);
        drop(other);
        router.settled(3).await;
    })
    .await;
}
