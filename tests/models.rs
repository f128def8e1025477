//! Workers that serve different models, and requests that name one.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use plimsoll_sim::{
    Fault, FaultAction, Role, SimConfig, SimEngine,
    replay::{ReplayServer, Reply},
};
use serde_json::json;

use crate::support::{Plimsoll, bounded, chat, sim};

const CHAT: &str = "/v1/chat/completions";

const PROBES: &str = "--health-check-interval-secs 1 --health-failure-threshold 1";

fn of(model: &str) -> SimConfig {
    SimConfig::default().model(model.to_owned())
}

async fn router(engines: &[&SimEngine]) -> Plimsoll {
    let urls: Vec<_> = engines.iter().map(|engine| engine.url()).collect();
    let line = format!("--worker-urls {} --policy round_robin {PROBES}", urls.join(" "));
    let router = Plimsoll::start(&line).await;
    let up = engines.len() as u64;
    router.page_when(|page| page.count("plimsoll_worker_eligible", &[]) == up).await;
    router
}

async fn ask(router: &Plimsoll, model: &str) -> crate::support::Answer {
    router.post(CHAT, chat("").replace("tiny-llama", model)).send().await
}

#[tokio::test]
async fn a_request_goes_where_its_model_is() {
    bounded(async {
        let engines = [sim(of("one")).await, sim(of("two")).await, sim(of("two")).await];
        let router = router(&engines.each_ref()).await;
        let mut listed = router.models(2).await;
        listed.sort_unstable();
        assert_eq!(listed, ["one", "two"]);
        for model in ["one", "two", "one", "two", "two", "two"] {
            assert_eq!(ask(&router, model).await.status, 200);
        }
        let [one, two, other] = engines.each_ref().map(|engine| engine.totals().finished);
        assert!((one, two + other) == (2, 4) && two > 0 && other > 0, "{one} {two} {other}");
        for engine in &engines {
            for request in engine.requests() {
                let body = String::from_utf8_lossy(&request.body).into_owned();
                assert!(
                    body.contains(&format!("\"model\":\"{}\"", engine.config().model)),
                    "{body}"
                );
            }
        }
        let unknown = ask(&router, "three").await;
        assert_eq!(unknown.status, 404);
        let message = unknown.error();
        assert!(message.contains("'three'"), "{message}");
        let error = &unknown.json()["error"];
        assert_eq!((&error["code"], &error["param"]), (&"model_not_found".into(), &"model".into()));
        let page = router.settled(7).await;
        assert_eq!(page.outcomes("client_error"), 1);
        assert_eq!(page.count("plimsoll_attempts_total", &[]), 6);
        let of_two = [("model", "two"), ("outcome", "complete")];
        assert_eq!(page.count("plimsoll_requests_total", &of_two), 4);
    })
    .await;
}

#[tokio::test]
async fn where_all_serve_one_any_name_passes() {
    bounded(async {
        let (first, second) = (sim(of("one")).await, sim(of("one")).await);
        let router = router(&[&first, &second]).await;
        assert_eq!(router.models(1).await, ["one"]);
        for model in ["one", "gpt-4", "one:adapter"] {
            assert_eq!(ask(&router, model).await.status, 200, "{model}");
        }
        assert_eq!(first.totals().finished + second.totals().finished, 3);
    })
    .await;
}

#[tokio::test]
async fn another_models_worker_does_not_stand_in() {
    bounded(async {
        let (one, two) = (sim(of("one")).await, sim(of("two")).await);
        let router = router(&[&one, &two]).await;
        router.models(2).await;
        two.faults().set_unhealthy(true);
        router.page_when(|page| page.count("plimsoll_worker_eligible", &[]) == 1).await;
        for _ in 0..2 {
            let answer = ask(&router, "two").await;
            assert_eq!(
                (answer.status, &answer.json()["error"]["code"]),
                (503, &"no_worker_available".into())
            );
            assert_eq!(ask(&router, "one").await.status, 200);
        }
        assert_eq!((one.totals().requests, two.totals().requests), (2, 0));
        two.faults().clear();
        router.page_when(|page| page.count("plimsoll_worker_eligible", &[]) == 2).await;
        assert_eq!(ask(&router, "two").await.status, 200);
        // Nor after a failure: its own is the only one to ask.
        let fault = FaultAction::Status { code: 503, headers: vec![], body: bytes::Bytes::new() };
        two.faults().push(Fault::once(fault));
        assert_eq!(ask(&router, "two").await.status, 503);
        assert_eq!(one.totals().requests, 2);
        assert_eq!(router.settled(6).await.outcomes("rejected"), 2);
    })
    .await;
}

#[tokio::test]
async fn pairs_are_of_one_model() {
    bounded(async {
        let mut engines = Vec::new();
        let mut line = "--pd-disaggregation --policy round_robin".to_owned();
        for model in ["one", "two", "two"] {
            let prefill = sim(of(model).role(Role::Prefill)).await;
            let decode = sim(of(model).role(Role::Decode)).await;
            let port = prefill.bootstrap_port().expect("a bootstrap port");
            line += &format!(" --prefill {} {port} --decode {}", prefill.url(), decode.url());
            engines.push((prefill, decode));
        }
        let router = Plimsoll::start(&line).await;
        router.page_when(|page| page.count("plimsoll_worker_eligible", &[]) == 6).await;
        router.models(2).await;
        for index in 0..9 {
            let model = if index % 3 == 0 { "one" } else { "two" };
            let answer = ask(&router, model).await;
            assert_eq!(answer.status, 200, "{}", answer.text());
        }
        assert_eq!(ask(&router, "three").await.status, 404);
        let served: Vec<_> =
            engines.iter().map(|(p, d)| (p.totals().finished, d.totals().finished)).collect();
        assert_eq!(served, [(3, 3), (3, 3), (3, 3)]);
    })
    .await;
}

/// One that takes a model in, or was exchanged between two probes, is asked again and again.
#[tokio::test]
async fn what_a_worker_serves_may_change() {
    bounded(async {
        let has_new = Arc::new(AtomicBool::new(false));
        let shared = has_new.clone();
        let engine = ReplayServer::start(move |request| {
            let ids = if shared.load(Ordering::Relaxed) { "one two" } else { "one" };
            let data: Vec<_> = ids.split(' ').map(|id| json!({"id": id})).collect();
            let listing = json!({"object": "list", "data": data}).to_string();
            (request.path == "/v1/models").then(|| Reply::json(200, &listing))
        });
        let engine = engine.await.expect("a free loopback port");
        let router = Plimsoll::start(&format!("--worker-urls {} {PROBES}", engine.url())).await;
        assert_eq!(router.models(1).await, ["one"]);
        has_new.store(true, Ordering::Relaxed);
        assert_eq!(router.models(2).await, ["one", "two"]);
    })
    .await;
}

/// Who waits for the worker of one model is not in the way of another's.
#[tokio::test]
async fn a_full_model_does_not_block_another() {
    bounded(async {
        let (full, free) = (sim(of("one")).await, sim(of("two")).await);
        full.faults().push(Fault::always(FaultAction::HangHead));
        let line = format!(
            "--worker-urls {} {} {PROBES} --worker-max-in-flight 1 --queue-size 1",
            full.url(),
            free.url()
        );
        let router = Plimsoll::start(&line).await;
        router.models(2).await;
        let body = || chat("").replace("tiny-llama", "one");
        let _first = router.post(CHAT, body()).open().await;
        full.wait_for(|totals| totals.requests == 1).await;
        let _second = router.post(CHAT, body()).open().await;
        router.page_when(|page| page.count("plimsoll_queue_depth", &[]) == 1).await;
        assert_eq!(ask(&router, "two").await.status, 200);
        assert_eq!(ask(&router, "three").await.status, 404);
        assert_eq!(ask(&router, "one").await.status, 429);
    })
    .await;
}
