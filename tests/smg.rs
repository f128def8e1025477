//! Dashboards made for the SGLang router: its names, types and labels on the page.

use std::collections::BTreeSet;

use plimsoll_sim::{SimConfig, replay::Reply};

use crate::support::{Call, Page, Plimsoll, bounded, chat, replay, sim_pair};

const CHAT: &str = "/v1/chat/completions";

/// What that router prints of HTTP traffic to pairs: name, type, labels.
const PEER: &str = include_str!("fixtures/peers/sglang-router-0.3.2.tsv");

/// What it leaves empty on HTTP.
const FILLED: &str = "\
smg_router_tokens_total\tcounter\trouter_type backend_type model endpoint token_type
smg_router_ttft_seconds\thistogram\trouter_type backend_type model endpoint
smg_router_tpot_seconds\thistogram\trouter_type backend_type model endpoint
smg_router_generation_duration_seconds\thistogram\trouter_type backend_type model endpoint
";

/// A router that has served a stream and refused a request, and its page.
async fn used(flags: &str) -> (Plimsoll, Page) {
    let (router, _prefill, _decode) = sim_pair(SimConfig::default(), flags).await;
    router.models(1).await;
    router.post(CHAT, chat(",\"max_tokens\":5,\"stream\":true")).send().await;
    router.post(CHAT, chat(",\"n\":2")).send().await;
    let page = router.settled(2).await;
    (router, page)
}

fn has_family(page: &Page, line: &str) {
    let mut columns = line.split('\t');
    let mut column = || columns.next().expect("three columns");
    let (name, kind, labels) = (column(), column(), column());
    // Every distribution of ours is a histogram.
    let kind = if kind == "summary" { "histogram" } else { kind };
    let family = (name.to_owned(), kind.to_owned());
    assert!(page.types.contains(&family), "{line}\n{page}");
    let labels: BTreeSet<_> = labels.split(' ').filter(|label| *label != "-").collect();
    let sample = if kind == "histogram" { format!("{name}_count") } else { name.to_owned() };
    let samples: Vec<_> = page.samples.iter().filter(|found| found.name == sample).collect();
    assert!(!samples.is_empty(), "{name} has no sample");
    for sample in samples {
        let has: BTreeSet<_> = sample.labels.keys().map(String::as_str).collect();
        assert_eq!(has, labels, "{name}");
    }
}

#[tokio::test]
async fn the_page_has_every_family_of_the_sglang_router() {
    bounded(async {
        let (_router, page) = used("").await;
        for line in PEER.lines().chain(FILLED.lines()) {
            has_family(&page, line);
        }
        let model = [("model", "tiny-llama"), ("backend_type", "pd")];
        for (name, want) in [
            ("smg_router_requests_total", 2),
            ("smg_router_request_errors_total", 1),
            ("smg_router_ttft_seconds_count", 1),
            ("smg_router_tpot_seconds_count", 1),
            ("smg_router_generation_duration_seconds_count", 1),
        ] {
            assert_eq!(page.count(name, &model), want, "{name}\n{page}");
        }
        for (ours, token_type) in [("prompt", "input"), ("completion", "output")] {
            let ours = page.count(&format!("plimsoll_{ours}_tokens_total"), &[]);
            let theirs = page.count("smg_router_tokens_total", &[("token_type", token_type)]);
            assert!(ours > 0 && ours == theirs, "{page}");
        }
        for role in ["prefill", "decode"] {
            let of = [("worker_type", role), ("model", "tiny-llama")];
            assert_eq!(page.count("smg_worker_selection_total", &of), 1);
            assert_eq!(page.count("smg_worker_errors_total", &[("worker_type", role)]), 0);
        }
        assert_eq!(page.count("smg_worker_health", &[]), 2);
    })
    .await;
}

#[tokio::test]
async fn the_page_is_without_them_where_they_are_not_wanted() {
    bounded(async {
        let (_router, page) = used("--no-smg-metrics").await;
        assert!(!page.to_string().contains("smg_"), "{page}");
    })
    .await;
}

#[tokio::test]
async fn the_pages_sums_outlive_a_worker_that_has_gone() {
    bounded(async {
        let fails = replay(|_| Reply::json(500, "{}")).await;
        let serves = replay(|_| Reply::json(200, "{\"choices\":[]}")).await;
        let line = format!("--worker-urls {} {}", fails.url(), serves.url());
        let router = Plimsoll::start(&format!("{line} --prometheus-duration-buckets 0.1 7")).await;
        for request in 0..4 {
            router.post(CHAT, chat("")).send().await;
            router.settled(request + 1).await;
        }
        let errors = [("worker_type", "regular"), ("error_type", "backend_error")];
        let before = router.page().await.count("smg_worker_errors_total", &errors);
        assert!(before > 0);
        let url = fails.url().replace(':', "%3A").replace('/', "%2F");
        let gone = Call::new(router.addr, "DELETE", &format!("/workers/{url}")).send().await;
        assert_eq!(gone.status, 200);
        // Who reads its metrics may hear of it a little later.
        let page = router.page_when(|page| !page.to_string().contains(&fails.url())).await;
        assert_eq!(page.count("smg_worker_health", &[]), 1);
        assert_eq!(page.count("smg_worker_errors_total", &errors), before);
        let bounds = [("method", "POST"), ("le", "7")];
        assert_eq!(page.count("smg_http_request_duration_seconds_bucket", &bounds), 4);
    })
    .await;
}
