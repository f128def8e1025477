//! Workers as pods: an API server that has its troubles.

mod server;

use std::net::SocketAddr;

use plimsoll_sim::{Role, SimConfig};
use serde_json::{Value, json};
use tokio::net::TcpListener;

use self::server::{ApiServer, pod};
use crate::support::{Folder, Plimsoll, bounded, chat, eventually, said_with, sim};

const ENGINES: &str = "--selector app=engine --service-discovery-port 7";

/// An engine at an address.
fn engine(ip: &str) -> Value {
    pod(ip, &[("app", "engine")])
}

/// Writes a kubeconfig, and says where it is.
fn kubeconfig(folder: &Folder, api: SocketAddr) -> String {
    let text = format!(
        "{{apiVersion: v1, kind: Config, current-context: c, \
         clusters: [{{name: c, cluster: {{server: 'http://{api}'}}}}], \
         contexts: [{{name: c, context: {{cluster: c, user: c}}}}], \
         users: [{{name: c, user: {{}}}}]}}"
    );
    folder.put("kubeconfig", &text)
}

/// Starts a router, which has read its kubeconfig when it listens.
async fn launch(line: &str, api: SocketAddr) -> Plimsoll {
    let (line, folder) = (format!("--service-discovery {line}"), Folder::new());
    Plimsoll::launch_with(&line, &[("KUBECONFIG", &kubeconfig(&folder, api))]).await
}

/// The workers now, each as `ROLE URL [BOOTSTRAP_PORT]`, sorted.
async fn workers(router: &Plimsoll) -> Vec<String> {
    let listing = router.get("/workers").send().await.json();
    let workers = listing["workers"].as_array().expect("a list").iter().map(|worker| {
        let text = |member: &str| worker[member].as_str().unwrap_or_default().to_owned();
        let port = worker["bootstrap_port"].as_u64();
        let port = port.map(|port| format!(" {port}")).unwrap_or_default();
        format!("{} {}{port}", text("role"), text("url"))
    });
    let mut workers: Vec<_> = workers.collect();
    workers.sort();
    workers
}

/// Waits until these are the workers.
async fn has(router: &Plimsoll, wanted: &[&str]) {
    eventually(async || match workers(router).await {
        workers if workers == wanted => Ok(()),
        workers => Err(format!("{workers:?} are not {wanted:?}\n{}", router.log())),
    })
    .await;
}

/// How often the log holds a text.
fn log_count(router: &Plimsoll, text: &str) -> usize {
    router.log().matches(text).count()
}

#[tokio::test]
async fn pods_come_change_and_go() {
    bounded(async {
        let api = ApiServer::start().await;
        api.put("a", &engine("10.0.0.1"));
        api.put("other", &pod("10.0.0.9", &[("app", "web")]));
        let router = launch(ENGINES, api.addr).await;
        has(&router, &["plain http://10.0.0.1:7"]).await;
        assert_eq!(api.path(), "/api/v1/pods", "of all namespaces");

        api.put("b", &engine("fd00::2"));
        has(&router, &["plain http://10.0.0.1:7", "plain http://[fd00::2]:7"]).await;
        api.put("b", &pod("fd00::2", &[("app", "web")]));
        has(&router, &["plain http://10.0.0.1:7"]).await;
        api.put("other", &engine("10.0.0.9"));
        has(&router, &["plain http://10.0.0.1:7", "plain http://10.0.0.9:7"]).await;
        api.delete("a");
        has(&router, &["plain http://10.0.0.9:7"]).await;
        api.delete("other");
        has(&router, &[]).await;
    })
    .await;
}

#[tokio::test]
async fn only_pods_that_are_ready_count() {
    bounded(async {
        let api = ApiServer::start().await;
        let router = launch(ENGINES, api.addr).await;
        let with = |path: &str, value: Value| {
            let mut pod = engine("10.0.0.1");
            *pod.pointer_mut(path).expect("a member") = value;
            pod
        };
        let away = async |pod: Value| {
            api.put("a", &engine("10.0.0.1"));
            has(&router, &["plain http://10.0.0.1:7"]).await;
            api.put("a", &pod);
            has(&router, &[]).await;
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
        let router = launch(ENGINES, api.addr).await;
        has(&router, &["plain http://10.0.0.1:7", "plain http://10.0.0.2:7"]).await;
        api.break_watches(|api| api.delete("a"));
        has(&router, &["plain http://10.0.0.2:7"]).await;
        api.forget(|api| {
            api.delete("b");
            api.put("c", &engine("10.0.0.3"));
        });
        has(&router, &["plain http://10.0.0.3:7"]).await;
        // And events are heard after all that.
        api.delete("c");
        has(&router, &[]).await;
        assert_eq!(log_count(&router, "of pods stay"), 0, "watches break");
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
        let router = launch(ENGINES, addr).await;
        router.logged("cannot list pods: Connection refused").await;

        let api = ApiServer::start_at(addr).await;
        api.put("a", &engine("10.0.0.1"));
        has(&router, &["plain http://10.0.0.1:7"]).await;

        api.refuse(Some((403, "pods is forbidden: ask your administrator")));
        router.logged("forbidden: ask your administrator; the 1 workers of pods stay").await;
        api.delete("a");
        api.put("b", &engine("10.0.0.2"));
        assert_eq!(workers(&router).await, ["plain http://10.0.0.1:7"]);
        api.refuse(None);
        has(&router, &["plain http://10.0.0.2:7"]).await;
        assert_eq!(log_count(&router, "Connection refused"), 1, "not one for each try");
        assert_eq!(log_count(&router, "ask your administrator"), 1);
        assert_eq!(log_count(&router, "kube_client"), 0);
    })
    .await;
}

#[tokio::test]
async fn both_roles_are_found_and_serve() {
    bounded(async {
        let engine = |role, addr: String| {
            sim(SimConfig::default().role(role).addr(addr.parse().expect("an address")))
        };
        let prefill = engine(Role::Prefill, "127.0.0.1:0".to_owned()).await;
        let port = prefill.url().to_string().rsplit(':').next().expect("a port").to_owned();
        let decode = engine(Role::Decode, format!("127.0.0.2:{port}")).await;
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
        let router = launch(&line, api.addr).await;
        let decoder = format!("decode http://127.0.0.2:{port}");
        has(&router, &[&decoder, &format!("prefill http://127.0.0.1:{port} {bootstrap}")]).await;
        assert_eq!(api.path(), "/api/v1/namespaces/models/pods");
        router.ready().await;
        let answer = router.post("/v1/chat/completions", chat(",\"max_tokens\":3")).send().await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!((prefill.totals().finished, decode.totals().finished), (1, 1));

        let folder = Folder::new();
        let variables = [("KUBECONFIG", &*kubeconfig(&folder, api.addr))];
        let check = said_with(&format!("check --service-discovery {line}"), &variables).await;
        assert!(check.out.contains(&format!("http://127.0.0.2:{port}")), "{check:?}");

        // One that is both is what it was first; and one worker goes as the other stays.
        first["metadata"]["labels"] = json!({ "app": "engine", "role": "decode" });
        api.put("p", &first);
        has(&router, &[&format!("decode http://127.0.0.1:{port}"), &decoder]).await;
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
        let router = launch(line, api.addr).await;
        has(&router, &["prefill http://10.0.0.1:80 8998"]).await;
        router.logged("pod a is prefill and decode: prefill counts").await;
        both["metadata"]["annotations"]["sglang.ai/bootstrap-port"] = json!("no");
        both["metadata"]["labels"] = json!({ "app": "engine" });
        api.put("a", &both);
        has(&router, &["prefill http://10.0.0.1:80"]).await;
        let wrong = "pod a: sglang.ai/bootstrap-port is no port: \"no\"";
        router.logged(wrong).await;

        let folder = Folder::new();
        let variables = [("KUBECONFIG", &*kubeconfig(&folder, api.addr))];
        let line = format!("check --service-discovery {line}");
        let check = said_with(&line, &variables).await;
        assert_eq!(check.code, Some(1), "{check:?}");
        assert!(check.err.contains(wrong) && check.err.contains("no decode worker"), "{check:?}");
    })
    .await;
}

#[tokio::test]
async fn without_a_way_to_an_api_server_nothing_starts() {
    bounded(async {
        let line = "--service-discovery --selector a=b";
        let none = said_with(line, &[("KUBECONFIG", "/none")]).await;
        assert_eq!((none.code, none.err.lines().count()), (Some(2), 1), "{none:?}");
        let wanted = "--service-discovery: cannot find an API server";
        assert!(none.err.contains(wanted), "{none:?}");
        // One that is there, but does not answer, is another thing.
        let folder = Folder::new();
        let nowhere = kubeconfig(&folder, SocketAddr::from(([127, 0, 0, 1], 1)));
        let check = said_with(&format!("check {line}"), &[("KUBECONFIG", &nowhere)]).await;
        assert_eq!(check.code, Some(1), "{check:?}");
        assert!(check.err.contains("cannot list pods: Connection refused"), "{check:?}");
    })
    .await;
}
