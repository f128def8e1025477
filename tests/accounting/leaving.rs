//! Clients that leave, where what is written is billed: `--on-disconnect drain`.

use std::time::Duration;

use plimsoll_sim::SimConfig;

use super::{CHAT, exact};
use crate::support::{Log, bounded, chat, sim_pair};

const DRAIN: &str = "--on-disconnect drain";

fn slow() -> SimConfig {
    SimConfig { token_interval: Duration::from_millis(20), ..SimConfig::default() }
}

/// Clients that leave once they have read `seen`.
async fn leave(
    flags: &str,
    clients: usize,
    stream: bool,
    seen: &str,
) -> (Log, plimsoll_sim::Totals) {
    let log = Log::new();
    let (router, _prefill, decode) = sim_pair(slow(), &format!("{flags} {}", log.flag())).await;
    let more = format!(",\"max_tokens\":30,\"stream\":{stream}");
    let mut leavers = Vec::new();
    for _ in 0..clients {
        let mut client = router.post(CHAT, chat(&more)).open().await;
        client.until(seen).await;
        leavers.push(client);
    }
    // Only then, so that all are under way at once.
    decode.wait_for(|totals| totals.open == clients as u64).await;
    drop(leavers);
    let page = router.settled(clients as u64).await;
    assert_eq!(page.outcomes("client_disconnect"), clients as u64, "{page}");
    log.wait(clients).await;
    let totals = decode.wait_for(|totals| totals.open == 0).await;
    (log, totals)
}

#[tokio::test]
async fn the_true_count_is_read() {
    for (stream, seen) in [(true, "\"content\":\""), (false, "")] {
        bounded(async {
            let (log, totals) = leave(DRAIN, 2, stream, seen).await;
            let counted: Vec<_> = log.lines().iter().map(exact).collect();
            let each = (totals.prompt_tokens / 2, 30);
            assert_eq!(counted, [Some(each), Some(each)]);
            assert_eq!((totals.finished, totals.generation_tokens), (2, 60));
        })
        .await;
    }
}

#[tokio::test]
async fn more_than_so_many_are_cancelled() {
    bounded(async {
        let flags = format!("{DRAIN} --drain-max-requests 1");
        let (log, totals) = leave(&flags, 3, true, "\"content\":\"").await;
        let drained = log.lines().iter().filter_map(exact).count();
        assert_eq!((drained, totals.finished, totals.aborted), (1, 1, 2));
    })
    .await;
}

#[tokio::test]
async fn cancelled_is_the_default() {
    bounded(async {
        let (log, totals) = leave("", 2, true, "\"content\":\"").await;
        assert_eq!((totals.finished, totals.aborted), (0, 2));
        for line in log.lines() {
            assert_eq!(line["completeness"], "partial");
            assert!(line["lower_bound"]["completion"].as_u64() > Some(0), "{line}");
        }
    })
    .await;
}

/// A drain is a running request: it has the grace period.
#[tokio::test]
async fn a_drain_ends_before_the_process_does() {
    bounded(async {
        let log = Log::new();
        let flags = format!("{DRAIN} {}", log.flag());
        let (mut router, _prefill, decode) = sim_pair(slow(), &flags).await;
        let body = chat(",\"max_tokens\":60,\"stream\":true");
        let mut client = router.post(CHAT, body).open().await;
        client.until("\"content\":\"").await;
        drop(client);
        router.signal("TERM").await;
        assert_eq!(router.ended().await.code(), Some(0));
        let counted: Vec<_> = log.lines().iter().map(exact).collect();
        assert_eq!(counted, [Some((decode.totals().prompt_tokens, 60))]);
    })
    .await;
}
