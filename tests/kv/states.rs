//! Engines that have run no batch, have no metrics, hang, or want a key.

use plimsoll_sim::{Fault, FaultAction, SimConfig, SimEngine, replay::Reply};

use super::{
    CHANGING, OFTEN, ask, document, engine, hold, only, page_of, page_when, state, steady, text,
    worker_in, worker_when,
};
use crate::support::{Page, Plimsoll, bounded, sim, sim_pair};

const MODEL: &str = "sim-llama";

/// As on the live server whose three lines this began with.
const CAPACITY: u64 = 2_581_504;

/// Its line and its role's say what the engine itself says.
fn agrees(page: &Page, role: &str, engine: &SimEngine) -> bool {
    let (url, used) = (engine.url(), engine.used_tokens());
    let worker = [("worker", &*url), ("role", role), ("model", MODEL)];
    let value = |name: &str| only(page, &format!("plimsoll_worker_{name}"), &worker);
    let sum = |name: &str| only(page, &format!("plimsoll_{name}"), &worker[1..]);
    let ratio = used as f64 / CAPACITY as f64;
    value("kv_used_tokens") == Some(used as f64)
        && value("kv_usage_ratio").is_some_and(|value| (value - ratio).abs() < 1e-4)
        && ["kv_capacity_tokens"].iter().chain(&CHANGING).all(|name| value(name) == sum(name))
}

#[tokio::test]
async fn before_the_first_batch_only_the_capacity_is_known() {
    bounded(async {
        let config = SimConfig::default().tp(4).capacity_tokens(CAPACITY);
        let (router, prefill, decode) = sim_pair(config, OFTEN).await;
        let engines = [("prefill", prefill.url()), ("decode", decode.url())];
        let read = |page: &Page| {
            engines.iter().all(|(_, url)| {
                let info = only(page, "plimsoll_worker_info", &[("worker", url), ("tp", "4")]);
                state(page, url) == "capacity_only" && info == Some(1.0)
            })
        };
        let page = page_when(&router, read).await;
        let document = document(&router).await;
        for (role, url) in &engines {
            let labels = [("worker", &**url), ("role", role), ("model", MODEL)];
            let own = only(&page, "plimsoll_worker_kv_capacity_tokens", &labels);
            let sum = only(&page, "plimsoll_kv_capacity_tokens", &labels[1..]);
            assert_eq!((own, sum), (Some(CAPACITY as f64), Some(CAPACITY as f64)), "{page}");
            let worker = worker_in(&document, url).expect("the worker");
            let hint = worker["hint"].as_str().expect("a text");
            assert!(hint.contains("send one request"), "{hint}");
            assert_eq!(
                (&worker["capacity_tokens"], &worker["state"]),
                (&CAPACITY.into(), &"capacity_only".into())
            );
            assert!(worker["used_tokens"].is_null() && worker["usage_ratio"].is_null());
        }
        for sample in &page.samples {
            assert!(!CHANGING.iter().any(|name| sample.name.ends_with(name)), "{sample:?}");
        }
    })
    .await;
}

#[tokio::test]
async fn after_one_request_the_numbers_are_the_engines_own() {
    bounded(async {
        let config = steady().tp(4).capacity_tokens(CAPACITY);
        let (router, prefill, decode) = sim_pair(config, OFTEN).await;
        ask(&router, MODEL).await;
        let held = hold(&router, MODEL).await;
        let page = page_when(&router, |page| {
            let ok = [&prefill, &decode].iter().all(|engine| state(page, &engine.url()) == "ok");
            ok && decode.used_tokens() > 0
                && agrees(page, "prefill", &prefill)
                && agrees(page, "decode", &decode)
        })
        .await;
        for (role, engine) in [("prefill", &prefill), ("decode", &decode)] {
            let value = |name: &str| {
                let line = only(&page, &format!("plimsoll_{name}"), &[("role", role)]);
                line.unwrap_or_else(|| panic!("no {name}: {page}"))
            };
            let (capacity, used) = (value("kv_capacity_tokens"), value("kv_used_tokens"));
            let (free, cached) = (value("kv_available_tokens"), value("kv_evictable_tokens"));
            assert_eq!((capacity, used + free + cached), (CAPACITY as f64, capacity));
            let ratio = value("kv_usage_ratio");
            assert!((ratio - used / capacity).abs() < 1e-12, "{ratio}");
            assert!((value("kv_occupied_ratio") - (used + cached) / capacity).abs() < 1e-12);
            // A prefill server keeps what it computed, a decode server does not.
            assert_eq!(cached > 0.0, role == "prefill", "{page}");
            let worker = worker_when(&router, &engine.url(), "ok").await;
            assert_eq!(
                (&worker["hint"], &worker["sources"]),
                (&"".into(), &["metrics"][..].into())
            );
        }
        drop(held);
        let idle = [("role", "decode")];
        page_when(&router, |page| only(page, "plimsoll_kv_used_tokens", &idle) == Some(0.0)).await;
    })
    .await;
}

#[tokio::test]
async fn without_metrics_the_loads_are_read() {
    bounded(async {
        let config = steady().metrics(false).capacity_tokens(CAPACITY);
        let (router, prefill, decode) = sim_pair(config, OFTEN).await;
        let urls = [prefill.url(), decode.url()];
        let disabled = |page: &Page| {
            urls.iter().all(|url| {
                let source = [("worker", &**url), ("source", "loads")];
                state(page, url) == "disabled"
                    && only(page, "plimsoll_worker_reading_source", &source) == Some(1.0)
            })
        };
        let page = page_when(&router, disabled).await;
        assert_eq!(only(&page, "plimsoll_kv_used_tokens", &[("role", "decode")]), None, "{page}");
        let _held = hold(&router, MODEL).await;
        let page = page_when(&router, |page| {
            disabled(page) && decode.used_tokens() > 0 && agrees(page, "decode", &decode)
        })
        .await;
        let read = [("source", "metrics")];
        assert_eq!(only(&page, "plimsoll_worker_reading_source", &read), None, "{page}");
        for url in &urls {
            let worker = worker_when(&router, url, "disabled").await;
            let hint = worker["hint"].as_str().expect("a text");
            assert!(hint.contains("--enable-metrics"), "{hint}");
            assert_eq!(worker["capacity_tokens"], CAPACITY);
        }
    })
    .await;
}

#[tokio::test]
async fn one_that_hangs_leaves_the_sums() {
    bounded(async {
        let config = SimConfig::default().capacity_tokens(1000);
        let (hung, other) = (sim(config.clone()).await, sim(config).await);
        let (hung_url, other_url) = (hung.url(), other.url());
        let limits = "--scrape-interval-ms 100 --scrape-timeout-ms 400 --stale-after-ms 2000";
        let line = format!("--worker-urls {hung_url} {other_url} --policy round_robin {limits}");
        let router = Plimsoll::start(&line).await;
        let coverage = |page: &Page| {
            let of = |name| only(page, name, &[("role", "plain")]);
            (of("plimsoll_kv_ranks_reporting"), of("plimsoll_kv_ranks_expected"))
        };
        let both = |page: &Page| {
            let ok = [&hung_url, &other_url].iter().all(|url| state(page, url) == "ok");
            ok && coverage(page) == (Some(2.0), Some(2.0))
        };
        ask(&router, MODEL).await;
        ask(&router, MODEL).await;
        let page = page_when(&router, both).await;
        let sum = |page: &Page| only(page, "plimsoll_kv_capacity_tokens", &[("role", "plain")]);
        assert_eq!(sum(&page), Some(2000.0));

        hung.faults().push(Fault::always(FaultAction::HangHead).on("/metrics"));
        let timeout =
            |page: &Page| state(page, &hung_url) == "timeout" && state(page, &other_url) == "ok";
        let page = page_when(&router, timeout).await;
        assert_eq!((coverage(&page), sum(&page)), ((Some(1.0), Some(2.0)), Some(1000.0)), "{page}");
        for name in CHANGING {
            let name = format!("plimsoll_worker_{name}");
            assert_eq!(only(&page, &name, &[("worker", &hung_url)]), None, "{page}");
            assert!(only(&page, &name, &[("worker", &other_url)]).is_some(), "{page}");
        }
        let age = |page: &Page, url| {
            only(page, "plimsoll_worker_reading_age_seconds", &[("worker", url)]).unwrap_or(-1.0)
        };
        let old = age(&page, &hung_url);
        assert!(old >= 2.0 && age(&page, &other_url) < 2.0, "{page}");
        page_when(&router, |page| age(page, &hung_url) > old + 0.2).await;
        hung.faults().clear();
        page_when(&router, both).await;
    })
    .await;
}

#[tokio::test]
async fn a_key_is_sent_and_not_shown() {
    bounded(async {
        const KEY: &str = "k3y-of-the-workers";
        let keyed = engine(|request| {
            let sent = request.header("authorization") == Some(&format!("Bearer {KEY}"));
            let refused = || Reply::json(401, "{\"error\":\"Unauthorized\"}");
            let page = || text(&page_of(0, 4096, 1024));
            (request.path == "/metrics").then(|| if sent { page() } else { refused() })
        })
        .await;
        let url = keyed.url();
        let line = format!("--worker-urls {url} {OFTEN}");

        let router = Plimsoll::start(&line).await;
        let worker = worker_when(&router, &url, "unauthorized").await;
        let hint = worker["hint"].as_str().expect("a text");
        assert!(hint.contains("--worker-api-key") && worker["capacity_tokens"].is_null());
        let page = page_when(&router, |page| state(page, &url) == "unauthorized").await;
        assert_eq!(only(&page, "plimsoll_kv_ranks_reporting", &[]), Some(0.0), "{page}");

        let router = Plimsoll::start(&format!("{line} --worker-api-key {KEY}")).await;
        let page = page_when(&router, |page| state(page, &url) == "ok").await;
        assert_eq!(only(&page, "plimsoll_kv_used_tokens", &[]), Some(1024.0), "{page}");
        let document = document(&router).await.to_string();
        for shown in [page.to_string(), document, router.log()] {
            assert!(!shown.contains(KEY), "{shown}");
        }
    })
    .await;
}
