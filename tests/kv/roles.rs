//! Sums: over the workers of one role and model, and never over others.

use plimsoll_sim::SimEngine;

use super::{OFTEN, document, hold, only, page_when, steady};
use crate::support::{Page, Plimsoll, bounded, sim};

const MODEL: &str = "sim-llama";

/// A sum of plain workers.
fn sum(page: &Page, name: &str, model: &str) -> Option<f64> {
    only(page, &format!("plimsoll_{name}"), &[("role", "plain"), ("model", model)])
}

#[tokio::test]
async fn models_are_not_mixed() {
    bounded(async {
        let of = |model: &str, capacity| steady().model(model.to_owned()).capacity_tokens(capacity);
        let (one, two) = (sim(of("one", 10_000)).await, sim(of("two", 30_000)).await);
        let line = format!("--worker-urls {} {} {OFTEN}", one.url(), two.url());
        let router = Plimsoll::start(&line).await;
        router.models(2).await;
        let _held = hold(&router, "one").await;
        let page = page_when(&router, |page| {
            let used = sum(page, "kv_used_tokens", "one");
            one.used_tokens() > 0
                && used == Some(one.used_tokens() as f64)
                && sum(page, "kv_capacity_tokens", "two").is_some()
        })
        .await;
        assert_eq!(sum(&page, "kv_capacity_tokens", "one"), Some(10_000.0), "{page}");
        assert_eq!(sum(&page, "kv_capacity_tokens", "two"), Some(30_000.0), "{page}");
        assert_eq!(sum(&page, "kv_used_tokens", "two"), None, "{page}");
        let document = document(&router).await;
        let roles = document["roles"].as_array().expect("a list");
        let rows: Vec<_> = roles.iter().map(|it| (&it["role"], &it["model"])).collect();
        let plain = "plain".into();
        assert_eq!(rows, [(&plain, &"one".into()), (&plain, &"two".into())]);
        assert!(roles.iter().all(|role| role["workers"] == 1), "{document}");
    })
    .await;
}

#[tokio::test]
async fn workers_of_one_model_are_added_up_by_weight() {
    bounded(async {
        let of = |capacity| steady().capacity_tokens(capacity);
        let engines = [sim(of(10_000)).await, sim(of(30_000)).await];
        let urls = engines.each_ref().map(SimEngine::url).join(" ");
        let line = format!("--worker-urls {urls} --policy round_robin {OFTEN}");
        let router = Plimsoll::start(&line).await;
        // The same on each of the two.
        let _held = [hold(&router, MODEL).await, hold(&router, MODEL).await];
        let page = page_when(&router, |page| {
            let [small, large] = engines.each_ref().map(SimEngine::used_tokens);
            let used = Some((small + large) as f64);
            small > 0 && large > 0 && sum(page, "kv_used_tokens", MODEL) == used
        })
        .await;
        let [small, large] = engines.each_ref().map(|engine| engine.used_tokens() as f64);
        assert_eq!(sum(&page, "kv_capacity_tokens", MODEL), Some(40_000.0), "{page}");
        assert_eq!(sum(&page, "kv_ranks_reporting", MODEL), Some(2.0), "{page}");
        assert_eq!(sum(&page, "running_requests", MODEL), Some(2.0), "{page}");
        for (name, wanted) in [
            ("kv_usage_ratio", (small + large) / 40_000.0),
            ("kv_usage_ratio_max", small / 10_000.0),
        ] {
            let ratio = sum(&page, name, MODEL).unwrap_or(-1.0);
            assert!((ratio - wanted).abs() < 1e-9, "{name} is {ratio}, not {wanted}\n{page}");
        }
    })
    .await;
}
