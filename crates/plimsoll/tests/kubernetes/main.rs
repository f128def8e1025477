//! Workers as pods: the real binary, and an API server that has its troubles.

mod router;
mod server;

use std::{future::Future, pin::Pin, time::Duration};

use plimsoll_sim::{Role, SimConfig, SimEngine};
use serde_json::{Value, json};
use tokio::{net::TcpListener, time::timeout};

use self::{
    router::{Router, eventually, said},
    server::{ApiServer, pod},
};

const ENGINES: &str = "--selector app=engine --service-discovery-port 7";

/// No test runs longer.
const TEST: Duration = Duration::from_secs(60);

/// A test within its time limit.
fn bounded<'a>(test: impl Future<Output = ()> + 'a) -> Pin<Box<dyn Future<Output = ()> + 'a>> {
    Box::pin(async move {
        let ended = timeout(TEST, Box::pin(test)).await;
        assert!(ended.is_ok(), "the test took longer than {TEST:?}");
    })
}

/// An engine at an address.
fn engine(ip: &str) -> Value {
    pod(ip, &[("app", "engine")])
}

#[tokio::test]
async fn pods_come_change_and_go() {
    bounded(async {
        let api = ApiServer::start().await;
        api.put("a", &engine("10.0.0.1"));
        api.put("other", &pod("10.0.0.9", &[("app", "web")]));
        let router = Router::launch(ENGINES, api.addr).await;
        router.has(&["plain http://10.0.0.1:7"]).await;
        assert_eq!(api.path(), "/api/v1/pods", "of all namespaces");

        api.put("b", &engine("fd00::2"));
        router.has(&["plain http://10.0.0.1:7", "plain http://[fd00::2]:7"]).await;
        api.put("b", &pod("fd00::2", &[("app", "web")]));
        router.has(&["plain http://10.0.0.1:7"]).await;
        api.put("other", &engine("10.0.0.9"));
        router.has(&["plain http://10.0.0.1:7", "plain http://10.0.0.9:7"]).await;
        api.delete("a");
        router.has(&["plain http://10.0.0.9:7"]).await;
        api.delete("other");
        router.has(&[]).await;
    })
    .await;
}

#[tokio::test]
async fn only_pods_that_are_ready_count() {
    bounded(async {
        let api = ApiServer::start().await;
        let router = Router::launch(ENGINES, api.addr).await;
        let with = |path: &str, value: Value| {
            let mut pod = engine("10.0.0.1");
            *pod.pointer_mut(path).expect("a member") = value;
            pod
        };
        let away = async |pod: Value| {
            api.put("a", &engine("10.0.0.1"));
            router.has(&["plain http://10.0.0.1:7"]).await;
            api.put("a", &pod);
            router.has(&[]).await;
        };
        away(with("/status/conditions/0/status", json!("False"))).await;
        away(with("/status/phase", json!("Pending"))).await;
        let mut ending = engine("10.0.0.1");
        ending["metadata"]["deletionTimestamp"] = json!("2026-12-03T08:00:00Z");
        away(ending).await;
    })
    .await;
}

#[tokio::test]
async fn what_a_broken_watch_has_missed_is_made_up_for() {
    bounded(async {
        let api = ApiServer::start().await;
        api.put("a", &engine("10.0.0.1"));
        api.put("b", &engine("10.0.0.2"));
        let router = Router::launch(ENGINES, api.addr).await;
        router.has(&["plain http://10.0.0.1:7", "plain http://10.0.0.2:7"]).await;
        api.break_watches(|api| api.delete("a"));
        router.has(&["plain http://10.0.0.2:7"]).await;
        api.forget(|api| {
            api.delete("b");
            api.put("c", &engine("10.0.0.3"));
        });
        router.has(&["plain http://10.0.0.3:7"]).await;
        // And events are heard after all that.
        api.delete("c");
        router.has(&[]).await;
        assert_eq!(router.log_count("of pods stay"), 0, "watches break");
    })
    .await;
}

#[tokio::test]
async fn workers_stay_while_there_is_no_api_server() {
    bounded(async {
        // A port where nobody listens.
        let port = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let addr = port.local_addr().expect("an address");
        drop(port);
        let router = Router::launch(ENGINES, addr).await;
        router.logged("cannot list pods: Connection refused").await;

        let api = ApiServer::start_at(addr).await;
        api.put("a", &engine("10.0.0.1"));
        router.has(&["plain http://10.0.0.1:7"]).await;

        api.refuse(Some((403, "pods is forbidden: ask your administrator")));
        router.logged("forbidden: ask your administrator; the 1 workers of pods stay").await;
        api.delete("a");
        api.put("b", &engine("10.0.0.2"));
        assert_eq!(router.workers().await, ["plain http://10.0.0.1:7"]);
        api.refuse(None);
        router.has(&["plain http://10.0.0.2:7"]).await;
        assert_eq!(router.log_count("Connection refused"), 1, "not one for each try");
        assert_eq!(router.log_count("ask your administrator"), 1);
        assert_eq!(router.log_count("kube_client"), 0);
    })
    .await;
}

#[tokio::test]
async fn both_roles_are_found_and_serve() {
    bounded(async {
        let sim = |role, addr: String| async move {
            let addr = addr.parse().expect("an address");
            SimEngine::start(SimConfig::default().role(role).addr(addr)).await.expect("it starts")
        };
        let prefill = sim(Role::Prefill, "127.0.0.1:0".to_owned()).await;
        let port = prefill.url().to_string().rsplit(':').next().expect("a port").to_owned();
        let decode = sim(Role::Decode, format!("127.0.0.2:{port}")).await;
        let bootstrap = prefill.bootstrap_port().expect("a port").to_string();

        let api = ApiServer::start().await;
        let mut first = pod("127.0.0.1", &[("app", "engine"), ("role", "prefill")]);
        first["metadata"]["annotations"] = json!({ "sglang.ai/bootstrap-port": bootstrap });
        api.put("p", &first);
        api.put("d", &pod("127.0.0.2", &[("app", "engine"), ("role", "decode")]));
        api.put("d-of-others", &pod("127.0.0.3", &[("app", "others"), ("role", "decode")]));
        let line = format!(
            "--pd-disaggregation --prefill-selector app=engine role=prefill --decode-selector \
             app=engine role=decode --service-discovery-port {port} \
             --service-discovery-namespace models"
        );
        let router = Router::launch(&line, api.addr).await;
        let decoder = format!("decode http://127.0.0.2:{port}");
        router.has(&[&decoder, &format!("prefill http://127.0.0.1:{port} {bootstrap}")]).await;
        assert_eq!(api.path(), "/api/v1/namespaces/models/pods");
        eventually(async || match router.ask("GET", "/readiness", "").await {
            (200, _) => Ok(()),
            (_, body) => Err(body),
        })
        .await;
        let chat = r#"{"model":"m","messages":[{"role":"user","content":"Hi"}],"max_tokens":3}"#;
        let (status, body) = router.ask("POST", "/v1/chat/completions", chat).await;
        assert_eq!(status, 200, "{body}");
        assert_eq!((prefill.totals().finished, decode.totals().finished), (1, 1));

        let check = said(&format!("check --service-discovery {line}"), Some(api.addr)).await;
        assert!(check.1.contains(&format!("http://127.0.0.2:{port}")), "{check:?}");

        // One that is both is what it was first; and one worker goes as the other stays.
        first["metadata"]["labels"] = json!({ "app": "engine", "role": "decode" });
        api.put("p", &first);
        router.has(&[&format!("decode http://127.0.0.1:{port}"), &decoder]).await;
    })
    .await;
}

#[tokio::test]
async fn a_pod_of_both_roles_is_said_and_counts_once() {
    bounded(async {
        let api = ApiServer::start().await;
        let mut both = pod("10.0.0.1", &[("app", "engine"), ("is", "decode")]);
        both["metadata"]["annotations"] = json!({ "sglang.ai/bootstrap-port": "8998" });
        api.put("a", &both);
        let line = "--pd-disaggregation --prefill-selector app=engine --decode-selector is=decode";
        let router = Router::launch(line, api.addr).await;
        router.has(&["prefill http://10.0.0.1:80 8998"]).await;
        router.logged("pod a is prefill and decode: prefill counts").await;
        both["metadata"]["annotations"]["sglang.ai/bootstrap-port"] = json!("no");
        both["metadata"]["labels"] = json!({ "app": "engine" });
        api.put("a", &both);
        router.has(&["prefill http://10.0.0.1:80"]).await;
        router.logged("pod a: sglang.ai/bootstrap-port is no port: \"no\"").await;
    })
    .await;
}

#[tokio::test]
async fn without_a_way_to_an_api_server_nothing_starts() {
    bounded(async {
        let line = "--service-discovery --selector a=b";
        let (code, _, error) = said(line, None).await;
        assert_eq!((code, error.lines().count()), (Some(2), 1), "{error}");
        assert!(error.contains("--service-discovery: cannot find an API server"), "{error}");
        // One that is there, but does not answer, is another thing.
        let nowhere = Some(([127, 0, 0, 1], 1).into());
        let (code, table, error) = said(&format!("check {line}"), nowhere).await;
        assert_eq!(code, Some(1), "{table}{error}");
        assert!(error.contains("cannot list pods: Connection refused"), "{error}");
    })
    .await;
}
