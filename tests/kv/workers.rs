//! Workers that come and go: the page follows.

use plimsoll_sim::SimConfig;
use serde_json::json;

use super::{OFTEN, ask, document, only, page_when, state, worker_in};
use crate::support::{Call, Page, Plimsoll, bounded, sim};

#[tokio::test]
async fn lines_come_and_go_with_their_worker() {
    bounded(async {
        let of = |capacity| SimConfig::default().capacity_tokens(capacity);
        let engines = [sim(of(1000)).await, sim(of(2000)).await, sim(of(4000)).await];
        let [staying, going, coming] = engines.each_ref().map(|engine| engine.url());
        let line = format!("--worker-urls {staying} {going} --policy round_robin {OFTEN}");
        let router = Plimsoll::start(&line).await;
        ask(&router, "sim-llama").await;
        ask(&router, "sim-llama").await;
        let sum = |page: &Page| only(page, "plimsoll_kv_capacity_tokens", &[("role", "plain")]);
        let both = |page: &Page| [&staying, &going].iter().all(|url| state(page, url) == "ok");
        let page = page_when(&router, both).await;
        assert_eq!(sum(&page), Some(3000.0), "{page}");
        assert!(page.to_string().contains(&going));

        let path = format!("/workers/{}", going.replace(':', "%3A").replace('/', "%2F"));
        let removed = Call::new(router.addr, "DELETE", &path).send().await;
        assert!(matches!(removed.status, 200 | 202), "{}", removed.text());
        let page = page_when(&router, |page| !page.to_string().contains(&going)).await;
        assert_eq!((sum(&page), state(&page, &staying)), (Some(1000.0), "ok"), "{page}");
        assert_eq!(worker_in(&document(&router).await, &going), None);

        let added = router.post("/workers", json!({"url": coming}).to_string()).send().await;
        assert_eq!(added.status, 201, "{}", added.text());
        let page = page_when(&router, |page| state(page, &coming) == "capacity_only").await;
        let own = [("worker", &*coming), ("role", "plain"), ("model", "sim-llama")];
        let capacity = only(&page, "plimsoll_worker_kv_capacity_tokens", &own);
        assert_eq!((capacity, sum(&page)), (Some(4000.0), Some(5000.0)), "{page}");
        // What is gone is not read any longer, so it does not come back.
        let scrapes = |page: &Page| {
            let own = [("worker", &*coming), ("result", "capacity_only")];
            only(page, "plimsoll_worker_scrapes_total", &own).unwrap_or(0.0)
        };
        let page = page_when(&router, |page| scrapes(page) >= 5.0).await;
        assert!(!page.to_string().contains(&going), "{page}");
    })
    .await;
}
