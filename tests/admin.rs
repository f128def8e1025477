//! Routes for operators and for browsers.

use plimsoll_sim::{SimConfig, SimEngine};
use serde_json::json;

use crate::support::{Call, Plimsoll, bounded, chat, sim, sim_pair};

const CHAT: &str = "/v1/chat/completions";

async fn router(engines: &[&SimEngine], flags: &str) -> Plimsoll {
    let urls: Vec<_> = engines.iter().map(|engine| engine.url()).collect();
    Plimsoll::start(&format!("--worker-urls {} {flags}", urls.join(" "))).await
}

#[tokio::test]
async fn every_worker_empties_its_cache() {
    bounded(async {
        let (router, prefill, decode) = sim_pair(SimConfig::default(), "").await;
        let answer = router.post("/flush_cache", "").send().await;
        let worker = |url: String, role: &str| {
            json!({"url": url, "role": role, "flushed": true, "status": 200, "message": null})
        };
        let workers = [worker(prefill.url(), "prefill"), worker(decode.url(), "decode")];
        assert_eq!(answer.status, 200);
        assert_eq!(answer.json(), json!({"flushed": true, "workers": workers}));
    })
    .await;
}

/// One that does not hear of it is named, and the others have done it all the same.
#[tokio::test]
async fn a_worker_that_keeps_its_cache_is_named() {
    bounded(async {
        let (one, other) = (sim(SimConfig::default()).await, sim(SimConfig::default()).await);
        let router = router(&[&one, &other], "").await;
        let gone = other.url();
        other.shutdown().await;
        let answer = router.post("/flush_cache", "").send().await;
        let workers = &answer.json()["workers"];
        assert_eq!(answer.status, 502);
        assert_eq!((&workers[0]["flushed"], &workers[1]["flushed"]), (&true.into(), &false.into()));
        assert_eq!((&workers[1]["url"], &workers[1]["status"]), (&gone.into(), &json!(null)));
        assert!(workers[1]["message"].as_str().is_some_and(|text| text.contains("reached")));
        assert_eq!(router.get("/flush_cache").send().await.status, 405);
    })
    .await;
}

/// A browser sends such a request without asking whether it may.
#[tokio::test]
async fn no_page_empties_caches_without_a_key() {
    bounded(async {
        let engine = sim(SimConfig::default()).await;
        for (flags, key, status) in [("", "Bearer x", 403), ("--api-key k", "Bearer k", 200)] {
            let router = router(&[&engine], flags).await;
            for (name, value) in [("origin", "http://a.example"), ("sec-fetch-site", "cross-site")]
            {
                let call = router.post("/flush_cache", "").header("authorization", key);
                let answer = call.header(name, value).send().await;
                assert_eq!(answer.status, status, "{flags} {name}: {}", answer.text());
            }
        }
    })
    .await;
}

#[tokio::test]
async fn a_page_of_an_allowed_origin_may_ask() {
    bounded(async {
        let engine = sim(SimConfig::default()).await;
        let flags = "--api-key k --cors-allowed-origins http://a.example https://b.example:8443";
        let router = router(&[&engine], flags).await;
        let preflight = |origin| {
            Call::new(router.addr, "OPTIONS", CHAT)
                .header("origin", origin)
                .header("access-control-request-method", "POST")
                .header("access-control-request-headers", "authorization,content-type")
        };
        let allowed = preflight("https://b.example:8443").send().await;
        let names = allowed.header("access-control-allow-headers").unwrap_or_default();
        assert_eq!(allowed.status, 200);
        assert_eq!(allowed.header("access-control-allow-origin"), Some("https://b.example:8443"));
        assert!(names.contains("authorization") && names.contains("content-type"), "{names}");
        let refused = preflight("https://c.example").send().await;
        assert_eq!(refused.header("access-control-allow-origin"), None);

        let ask = |key: &str| {
            let call = router.post(CHAT, chat("")).header("origin", "http://a.example");
            call.header("authorization", key).send()
        };
        let answer = ask("Bearer k").await;
        assert_eq!(answer.status, 200);
        assert_eq!(answer.header("access-control-allow-origin"), Some("http://a.example"));
        let unknown = ask("Bearer x").await;
        assert_eq!(unknown.status, 401);
        assert_eq!(unknown.header("access-control-allow-origin"), Some("http://a.example"));
        // Asking whether one may ask is no request.
        assert_eq!(router.settled(2).await.outcomes("complete"), 1);
    })
    .await;
}

#[tokio::test]
async fn no_origin_is_allowed_unless_named() {
    bounded(async {
        let engine = sim(SimConfig::default()).await;
        let router = router(&[&engine], "").await;
        let call = router.post(CHAT, chat("")).header("origin", "http://a.example");
        assert_eq!(call.send().await.header("access-control-allow-origin"), None);
    })
    .await;
}
