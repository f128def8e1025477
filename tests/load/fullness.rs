//! `--kv-admission-threshold`: no request goes to a worker whose KV cache is fuller.

use std::time::Duration;

use plimsoll_sim::{Role, SimConfig, SimEngine};
use serde_json::Value;

use super::{CHAT, ENDLESS, refused, streaming, waiting};
use crate::support::{Plimsoll, bounded, chat, eventually, pair_line, sim};

/// A reading that is late on a busy machine counts all the same: what is not known holds nobody back.
const READ_OFTEN: &str = "--scrape-interval-ms 100 --scrape-timeout-ms 5000 --stale-after-ms 10000 \
                          --kv-admission-threshold 0.5";

/// A pair whose decode engine holds 2,000 tokens.
async fn pair(flags: &str) -> (Plimsoll, SimEngine, SimEngine) {
    let config = SimConfig::default().token_interval(Duration::from_millis(20));
    let prefill = sim(config.clone().role(Role::Prefill)).await;
    let decode = sim(config.capacity_tokens(2000).role(Role::Decode)).await;
    let port = prefill.bootstrap_port().expect("a bootstrap port");
    let line = pair_line(&prefill.url(), port, &decode.url());
    (Plimsoll::start(&format!("{line} {READ_OFTEN} {flags}")).await, prefill, decode)
}

/// A stream whose prompt alone takes more than half of the decode engine's cache, read as such.
async fn fill(router: &Plimsoll) -> crate::support::Exchange {
    let words = "word ".repeat(600);
    let body = chat(",\"stream\":true,\"max_tokens\":700,\"ignore_eos\":true")
        .replace("Hello world", &words);
    let mut client = router.post(CHAT, body).open().await;
    client.until("\"content\":\"").await;
    eventually(async || {
        let report: Value = router.ask_metrics("/kv").send().await.json();
        let text = report.to_string();
        let page = router.page().await;
        let full = page.sum("plimsoll_worker_kv_usage_ratio", &[("role", "decode")]);
        if full > 0.5 { Ok(()) } else { Err(text) }
    })
    .await;
    client
}

#[tokio::test]
async fn who_comes_to_a_full_one_waits() {
    bounded(async {
        let (router, prefill, decode) = pair("").await;
        let filling = fill(&router).await;
        let next = router.post(CHAT, chat(",\"max_tokens\":1")).open().await;
        waiting(&router, 1).await;
        assert_eq!((prefill.totals().requests, decode.totals().requests), (1, 1));
        drop(filling);
        assert_eq!(next.rest().await.status, 200);
        assert_eq!(decode.totals().requests, 2);
        let page = router.settled(2).await;
        assert_eq!((page.outcomes("complete"), page.outcomes("client_disconnect")), (1, 1));
    })
    .await;
}

#[tokio::test]
async fn patience_ends_before_it_empties() {
    bounded(async {
        let (router, prefill, decode) = pair("--queue-timeout-secs 1").await;
        let filling = fill(&router).await;
        let answer = router.post(CHAT, chat("")).send().await;
        refused(&answer, 503, "queue_timeout");
        drop(filling);
        let page = router.settled(2).await;
        assert_eq!(page.outcomes("rejected"), 1);
        assert_eq!((prefill.totals().requests, decode.totals().requests), (1, 1));
    })
    .await;
}

/// Where there is one with room, nobody waits.
#[tokio::test]
async fn the_emptier_one_is_taken() {
    bounded(async {
        let config = SimConfig::default().token_interval(Duration::from_millis(20));
        let first = sim(config.clone().capacity_tokens(2000)).await;
        let second = sim(config.capacity_tokens(1_000_000)).await;
        let line = format!(
            "--worker-urls {} {} --policy round_robin {READ_OFTEN}",
            first.url(),
            second.url()
        );
        let router = Plimsoll::start(&line).await;
        router.page_when(|page| page.count("plimsoll_worker_eligible", &[]) == 2).await;
        let words = "word ".repeat(600);
        let body = chat(ENDLESS).replace("30000", "700").replace("Hello world", &words);
        let mut streams = Vec::new();
        while first.totals().open == 0 {
            let mut client = router.post(CHAT, body.clone()).open().await;
            client.until("\"content\":\"").await;
            streams.push(client);
        }
        let url = first.url();
        let full = |page: &crate::support::Page| {
            page.sum("plimsoll_worker_kv_usage_ratio", &[("worker", &url)]) > 0.5
        };
        router.page_when(full).await;
        let before = second.totals().requests;
        for _ in 0..4 {
            assert_eq!(router.post(CHAT, chat(",\"max_tokens\":1")).send().await.status, 200);
        }
        assert_eq!((first.totals().requests, second.totals().requests), (1, before + 4));
        drop(streaming(&router, ENDLESS).await);
        drop(streams);
    })
    .await;
}
