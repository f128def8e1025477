//! Routes of the serving port, and the workers behind them coming and going.

use std::net::SocketAddr;

use plimsoll_sim::{
    Fault, FaultAction, Role, SimConfig, SimEngine,
    replay::{ReplayServer, Reply},
};
use tokio::net::TcpListener;

use crate::support::{Call, Plimsoll, bounded, chat, eventually, pair_line, replay, sim, sim_pair};

/// Probes as quick as the flags allow.
const QUICK: &str = "--health-check-interval-secs 1 --health-check-timeout-secs 1 \
                     --health-failure-threshold 1";

/// An address where nobody listens.
async fn free_addr() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    listener.local_addr().expect("an address")
}

#[tokio::test]
async fn what_is_not_here() {
    bounded(async {
        let (router, _prefill, _decode) = sim_pair(SimConfig::default(), "").await;
        for path in ["/", "/nowhere", "/v1/unheard-of", "/v1/chat/completions/", "/metrics/x"] {
            let answer = router.get(path).send().await;
            assert_eq!(answer.status, 404, "{path}");
            assert!(answer.error().contains(path), "{}", answer.text());
        }
        let metrics = router.get("/metrics").send().await;
        assert_eq!(metrics.status, 404);
        let port = router.metrics_addr.port().to_string();
        assert!(metrics.error().contains(&port), "{}", metrics.text());
        for (method, path, allow) in [
            ("GET", "/v1/chat/completions", "POST"),
            ("PUT", "/generate", "POST"),
            ("DELETE", "/v1/models", "GET"),
            ("POST", "/v1/models", "GET"),
            ("POST", "/health", "GET"),
            ("POST", "/get_server_info", "GET"),
        ] {
            let answer = Call::new(router.addr, method, path).body("{}").send().await;
            assert_eq!((answer.status, answer.header("allow")), (405, Some(allow)), "{path}");
            assert!(answer.error().contains(allow));
        }
    })
    .await;
}

#[tokio::test]
async fn what_pairs_cannot_serve() {
    bounded(async {
        let (router, _prefill, _decode) = sim_pair(SimConfig::default(), "").await;
        let paths = [
            "/v1/responses",
            "/v1/messages",
            "/v1/embeddings",
            "/v1/rerank",
            "/rerank",
            "/v1/score",
            "/v1/classify",
        ];
        for path in paths {
            let answer = router.post(path, "{}").send().await;
            assert_eq!(answer.status, 501, "{path}");
            assert!(answer.error().contains(path));
        }
        let page = router.settled(paths.len() as u64).await;
        assert_eq!(page.outcomes("rejected"), paths.len() as u64);
        assert_eq!(
            page.count("plimsoll_requests_total", &[("endpoint", "rerank"), ("code", "501")]),
            2
        );
    })
    .await;
}

#[tokio::test]
async fn other_routes_pass_through_to_plain_workers() {
    bounded(async {
        let body = r#"{"data":[{"embedding":[0.70]}],"usage":{"prompt_tokens":7}}"#;
        let engine = replay(move |_| Reply::json(200, body)).await;
        let router = Plimsoll::start(&format!("--worker-urls {}", engine.url())).await;
        let answer = router.post("/v1/embeddings?x=1", r#"{"input":"a","n":2}"#).send().await;
        assert_eq!((answer.status, &*answer.text()), (200, body));
        assert!(engine.requests().iter().any(|seen| seen.path == "/v1/embeddings?x=1"));
        let page = router.settled(1).await;
        assert_eq!(page.count("plimsoll_prompt_tokens_total", &[("endpoint", "embeddings")]), 7);
    })
    .await;
}

#[tokio::test]
async fn models_are_the_union() {
    bounded(async {
        let one = sim(SimConfig::default().model("one".to_owned())).await;
        let two = sim(SimConfig::default().model("two".to_owned())).await;
        let again = sim(SimConfig::default().model("one".to_owned())).await;
        let urls = [one.url(), two.url(), again.url()].join(" ");
        let router = Plimsoll::start(&format!("--worker-urls {urls}")).await;
        assert_eq!(router.models(2).await, ["one", "two"]);
        let answer = router.get("/v1/models").send().await;
        assert_eq!((answer.status, &answer.json()["object"]), (200, &"list".into()));
    })
    .await;
}

/// An engine whose information routes fail, and one whose work.
#[tokio::test]
async fn information_comes_from_the_next_worker_on_failure() {
    bounded(async {
        let broken = ReplayServer::start(|request| {
            request.path.contains("info").then(|| Reply::json(500, "{\"broken\":true}"))
        });
        let broken = broken.await.expect("a free port");
        let good = sim(SimConfig::default().model("good".to_owned())).await;
        let line = format!("--worker-urls {} {}", broken.url(), good.url());
        let router = Plimsoll::start(&line).await;
        router.page_when(|page| page.count("plimsoll_worker_up", &[]) == 2).await;
        for path in ["/get_model_info", "/model_info", "/get_server_info", "/server_info"] {
            let answer = router.get(path).send().await;
            assert_eq!(answer.status, 200, "{path}");
            assert_eq!(answer.json()["served_model_name"], "good", "{path}");
        }
        assert!(router.get("/v1/loads").send().await.status < 500);
        assert_eq!(router.get("/health").send().await.status, 200);
        good.shutdown().await;
        assert_eq!(router.get("/server_info").send().await.status / 100, 5);
    })
    .await;
}

#[tokio::test]
async fn readiness_names_the_role_and_a_late_worker_joins() {
    bounded(async {
        let prefill = sim(SimConfig::default().role(Role::Prefill)).await;
        let late = free_addr().await;
        let port = prefill.bootstrap_port().expect("a bootstrap port");
        let line = pair_line(&prefill.url(), port, &format!("http://{late}"));
        let router = Plimsoll::launch(&line).await;
        router
            .page_when(|page| page.count("plimsoll_worker_up", &[("role", "prefill")]) == 1)
            .await;
        let waiting = router.get("/readiness").send().await;
        assert_eq!((waiting.status, &waiting.json()["missing"]), (503, &"decode".into()));
        assert_eq!(router.get("/health").send().await.status, 200);
        let refused = router.post("/v1/chat/completions", chat("")).send().await;
        assert_eq!(refused.status, 503);
        assert!(refused.error().contains("decode"), "{}", refused.text());
        assert_eq!(router.settled(1).await.outcomes("rejected"), 1);

        let _decode = sim(SimConfig::default().role(Role::Decode).addr(late)).await;
        ready(&router, 200).await;
        let answer = router.post("/v1/chat/completions", chat("")).send().await;
        assert_eq!(answer.status, 200);
    })
    .await;
}

async fn ready(router: &Plimsoll, wanted: u16) {
    eventually(async || match router.get("/readiness").send().await.status {
        status if status == wanted => Ok(()),
        status => Err(format!("/readiness is {status}")),
    })
    .await;
}

#[tokio::test]
async fn a_dead_worker_goes_out_and_comes_back() {
    bounded(async {
        let addr = free_addr().await;
        let start = || async move { SimEngine::start(SimConfig::default().addr(addr)).await };
        let engine = start().await.expect("the port is free");
        let router = Plimsoll::start(&format!("--worker-urls {} {QUICK}", engine.url())).await;
        engine.shutdown().await;
        ready(&router, 503).await;
        let page = router.page().await;
        assert_eq!(page.count("plimsoll_worker_eligible", &[("role", "plain")]), 0);
        let engine = eventually(async || start().await.map_err(|error| error.to_string())).await;
        ready(&router, 200).await;
        let answer = router.post("/v1/chat/completions", chat("")).send().await;
        assert_eq!(answer.status, 200);
        // A worker that says it is unwell is as good as dead.
        engine.faults().set_unhealthy(true);
        ready(&router, 503).await;
        engine.faults().clear();
        ready(&router, 200).await;
    })
    .await;
}

#[tokio::test]
async fn health_generate_asks_one_worker_of_each_role() {
    bounded(async {
        let (router, prefill, decode) = sim_pair(SimConfig::default(), "").await;
        assert_eq!(router.get("/health_generate").send().await.status, 200);
        decode.faults().push(
            Fault::always(FaultAction::Status {
                code: 503,
                headers: Vec::new(),
                body: bytes::Bytes::new(),
            })
            .on("/health_generate"),
        );
        assert_eq!(router.get("/health_generate").send().await.status, 503);
        drop((prefill, decode));
    })
    .await;
}
