//! Data ranks on one page and on several, and values that are none.

use plimsoll_sim::replay::Reply;

use super::{OFTEN, ask, engine, hold, only, page_of, page_when, state, steady, text};
use crate::support::{Page, Plimsoll, bounded, sim};

const MODEL: &str = "sim-llama";

/// The ratio of a data rank's pool.
fn pool(page: &Page, rank: &str) -> Option<f64> {
    only(page, "plimsoll_pool_kv_usage_ratio", &[("dp_rank", rank), ("pool", "full")])
}

fn coverage(page: &Page) -> [Option<f64>; 2] {
    ["reporting", "expected"].map(|name| only(page, &format!("plimsoll_kv_ranks_{name}"), &[]))
}

#[tokio::test]
async fn data_ranks_are_pools_of_their_own() {
    bounded(async {
        let engine = sim(steady().dp(2).tp(2).capacity_tokens(10_000)).await;
        let router = Plimsoll::start(&format!("--worker-urls {} {OFTEN}", engine.url())).await;
        // One for each rank: they are used in turn.
        ask(&router, MODEL).await;
        ask(&router, MODEL).await;
        let _held = hold(&router, MODEL).await;
        let page = page_when(&router, |page| {
            let used = only(page, "plimsoll_kv_used_tokens", &[]);
            engine.used_tokens() > 0 && used == Some(engine.used_tokens() as f64)
        })
        .await;
        let used = engine.used_tokens() as f64;
        let near = |value: Option<f64>, wanted: f64| {
            assert!(value.is_some_and(|value| (value - wanted).abs() < 1e-12), "{value:?}\n{page}");
        };
        near(pool(&page, "0"), used / 10_000.0);
        near(pool(&page, "1"), 0.0);
        for name in ["plimsoll", "plimsoll_worker"] {
            assert_eq!(only(&page, &format!("{name}_kv_capacity_tokens"), &[]), Some(20_000.0));
            near(only(&page, &format!("{name}_kv_usage_ratio"), &[]), used / 20_000.0);
            near(only(&page, &format!("{name}_kv_usage_ratio_max"), &[]), used / 10_000.0);
        }
        assert_eq!(coverage(&page), [Some(2.0); 2]);
        assert_eq!(only(&page, "plimsoll_worker_info", &[("tp", "2"), ("dp", "2")]), Some(1.0));
    })
    .await;
}

#[tokio::test]
async fn pages_of_several_nodes_are_one_reading() {
    bounded(async {
        let at = |page: String| engine(move |it| (it.path == "/node").then(|| text(&page)));
        let first = at(page_of(0, 4096, 1024)).await;
        let second = at(page_of(1, 4096, 3072)).await;
        let worker = engine(|it| {
            let info = "{\"version\":\"0.5.23\",\"tp_size\":2,\"dp_size\":2}";
            it.path.ends_with("server_info").then(|| Reply::json(200, info))
        })
        .await;
        let url = worker.url();
        let named = [&first, &second].map(|it| format!("--worker-metrics {url}={}/node", it.url()));
        let line = format!("--worker-urls {url} {} {OFTEN}", named.join(" "));
        let router = Plimsoll::start(&line).await;
        let sums = |page: &Page| {
            let of = |name: &str| only(page, &format!("plimsoll_kv_{name}"), &[]);
            [of("capacity_tokens"), of("used_tokens"), of("usage_ratio"), of("usage_ratio_max")]
        };
        let page = page_when(&router, |page| coverage(page) == [Some(2.0); 2]).await;
        assert_eq!(state(&page, &url), "ok");
        assert_eq!(sums(&page), [Some(8192.0), Some(4096.0), Some(0.5), Some(0.75)], "{page}");
        assert_eq!((pool(&page, "0"), pool(&page, "1")), (Some(0.25), Some(0.75)), "{page}");

        drop(second);
        let page = page_when(&router, |page| coverage(page) == [Some(1.0), Some(2.0)]).await;
        assert_eq!(sums(&page), [Some(4096.0), Some(1024.0), Some(0.25), Some(0.25)], "{page}");
        assert_eq!(pool(&page, "1"), None, "{page}");
        // Its usual page was not named.
        assert!(worker.requests().iter().all(|request| request.path != "/metrics"));
    })
    .await;
}

#[tokio::test]
async fn what_is_no_value_is_not_on_the_page() {
    bounded(async {
        let body = "sglang:max_total_num_tokens{model_name=\"m\",tp_rank=\"0\"} 4096\n\
                    sglang:kv_used_tokens{model_name=\"m\",tp_rank=\"0\"} -1\n\
                    sglang:full_token_usage{model_name=\"m\",tp_rank=\"0\"} NaN\n\
                    sglang:num_running_reqs{model_name=\"m\",tp_rank=\"0\"} -1\n\
                    sglang:max_total_num_tokens{model_name=\"m\",tp_rank=\"0\"} 8192\n\
                    sglang:num_queue_reqs{model_name=\"m\"\n";
        let engine = engine(move |it| (it.path == "/metrics").then(|| text(body))).await;
        let url = engine.url();
        let router = Plimsoll::start(&format!("--worker-urls {url} {OFTEN}")).await;
        let page = page_when(&router, |page| state(page, &url) == "capacity_only").await;
        for name in ["kv_used_tokens", "kv_usage_ratio", "running_requests", "queued_requests"] {
            assert_eq!(only(&page, &format!("plimsoll_{name}"), &[]), None, "{page}");
        }
        assert_eq!(only(&page, "plimsoll_kv_capacity_tokens", &[]), Some(4096.0), "{page}");
        for reason in ["negative", "nan", "malformed", "duplicate"] {
            let discarded = [("reason", reason)];
            let count = only(&page, "plimsoll_worker_discarded_samples_total", &discarded);
            assert!(count.is_some_and(|count| count >= 1.0), "{reason}\n{page}");
        }
    })
    .await;
}
