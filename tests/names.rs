//! Workers that are found by a name in DNS.

use plimsoll_sim::{Role, SimConfig, SimEngine};

use crate::support::{Plimsoll, bounded, chat, said, sim};

/// The port behind an engine's URL.
fn port(engine: &SimEngine) -> String {
    let url = engine.url();
    url.rsplit(':').next().unwrap_or_default().to_owned()
}

async fn pair() -> (String, SimEngine, SimEngine) {
    let prefill = sim(SimConfig::default().role(Role::Prefill)).await;
    let decode = sim(SimConfig::default().role(Role::Decode)).await;
    let bootstrap = prefill.bootstrap_port().expect("a bootstrap port");
    let line = format!(
        "--pd-disaggregation --prefill-dns localhost:{} {bootstrap} --decode-dns localhost:{}",
        port(&prefill),
        port(&decode)
    );
    (line, prefill, decode)
}

#[tokio::test]
async fn engines_are_found_by_name() {
    bounded(async {
        let (line, prefill, decode) = pair().await;
        let router = Plimsoll::start(&line).await;
        let answer = router.post("/v1/chat/completions", chat(",\"max_tokens\":3")).send().await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        let workers = router.get("/workers").send().await.json();
        let urls: Vec<_> = workers["workers"].as_array().expect("a list").iter().collect();
        assert_eq!(urls.len(), 2, "{workers}");
        assert_eq!((prefill.totals().finished, decode.totals().finished), (1, 1));

        let table = said(&format!("check {line}")).await.out;
        assert!(table.contains(&format!("http://127.0.0.1:{}", port(&decode))), "{table}");
    })
    .await;
}

#[tokio::test]
async fn a_name_that_is_not_known_is_said_and_waited_for() {
    bounded(async {
        let line =
            "--pd-disaggregation --prefill-dns prefill.invalid:1 --decode http://127.0.0.1:1";
        let router = Plimsoll::launch(line).await;
        router.logged("cannot look up prefill.invalid:1").await;
        assert_eq!(router.get("/readiness").send().await.status, 503);
        let answer = router.post("/v1/chat/completions", chat("")).send().await;
        assert_eq!(answer.status, 503, "not a 404 or a 501: pairs are what is served");
    })
    .await;
}
