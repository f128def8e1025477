use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use kube::client::Body;
use plimsoll_router::{Cluster, RouterConfig};
use serde_json::{Value, json};
use tokio::{task::JoinSet, time::sleep};
use tower::service_fn;

use super::*;

fn pod(annotations: &Value) -> Value {
    json!({
        "metadata": { "name": "p", "annotations": annotations },
        "status": {
            "phase": "Running",
            "podIP": "10.0.0.1",
            "conditions": [
                { "type": "PodScheduled", "status": "False" },
                { "type": "Ready", "status": "True" },
            ],
        },
    })
}

fn read(pod: Value) -> Pod {
    serde_json::from_value(pod).unwrap()
}

/// What is listed of pods, each in a role.
fn listed(pods: Vec<(Role, Value)>) -> Listed {
    let mut listed = Listed::default();
    for (role, pod) in pods {
        listed.take(&read(pod), role, 7);
    }
    listed
}

#[test]
fn a_pod_counts_while_it_can_serve() {
    assert_eq!(ready_ip(&read(pod(&json!({})))), Some([10, 0, 0, 1].into()));
    for (path, value) in [
        ("/status/phase", json!("Succeeded")),
        ("/status/podIP", Value::Null),
        ("/status/podIP", json!("")),
        ("/status/conditions", Value::Null),
        ("/status/conditions/1/status", json!("Unknown")),
        ("/status", Value::Null),
    ] {
        let mut pod = pod(&json!({}));
        *pod.pointer_mut(path).unwrap() = value;
        assert_eq!(ready_ip(&read(pod)), None, "{path}");
    }
    let mut ending = pod(&json!({}));
    ending["metadata"]["deletionTimestamp"] = json!("2026-12-03T08:00:00Z");
    assert_eq!(ready_ip(&read(ending)), None);
}

#[test]
fn bootstrap_ports_are_those_of_prefill_pods() {
    for (text, port) in [("8998", Some(8998)), ("0", None), ("65536", None), ("", None)] {
        let annotations = json!({ BOOTSTRAP_PORT: text });
        let prefill = listed(vec![(Role::Prefill, pod(&annotations))]);
        assert_eq!(prefill.workers[0].bootstrap_port, port, "{text:?}");
        assert_eq!(prefill.trouble.is_some(), port.is_none(), "{text:?}");
        let decode = listed(vec![(Role::Decode, pod(&annotations))]);
        assert_eq!((decode.workers[0].bootstrap_port, decode.trouble), (None, None), "{text:?}");
    }
}

#[test]
fn the_first_role_of_a_pod_counts() {
    let pods = [Role::Prefill, Role::Decode].map(|role| (role, pod(&json!({}))));
    let both = listed(pods.into());
    let worker =
        Backend { url: "http://10.0.0.1:7".into(), role: Role::Prefill, bootstrap_port: None };
    assert_eq!(both.workers, [worker]);
    let trouble = "pod p is prefill and decode: prefill counts";
    assert_eq!(both.trouble.as_deref(), Some(trouble));
}

/// An API server of one pod at most, whose watches say this, or nothing.
fn api(is_there: Arc<AtomicBool>, watch: Option<Value>) -> Client {
    let service = move |request: http::Request<Body>| {
        let items = if is_there.load(Ordering::Relaxed) { vec![pod(&json!({}))] } else { vec![] };
        let watch = watch.clone();
        async move {
            let is_watch = request.uri().query().is_some_and(|query| query.contains("watch"));
            let answer = match watch {
                _ if !is_watch => json!({ "metadata": { "resourceVersion": "1" }, "items": items }),
                Some(answer) => answer,
                None => std::future::pending().await,
            };
            Ok::<_, Infallible>(http::Response::new(Body::from(answer.to_string().into_bytes())))
        }
    };
    Client::new(service_fn(service), "default")
}

/// Follows that API server.
fn follow(client: Client) -> (Arc<Cluster>, JoinSet<()>) {
    let selectors = vec![(Role::Plain, "a=b".to_owned())];
    let pods = Pods { namespace: None, port: 7, selectors };
    let cluster = Cluster::new(RouterConfig::new(Vec::new()));
    let mut tasks = JoinSet::new();
    tasks.spawn(Source::of(client, pods).follow(cluster.clone()));
    (cluster, tasks)
}

#[tokio::test(start_paused = true)]
async fn a_silent_watch_costs_half_a_minute_at_most() {
    let is_there = Arc::new(AtomicBool::new(true));
    let (cluster, _tasks) = follow(api(is_there.clone(), None));
    sleep(LEAST).await;
    assert_eq!(cluster.workers().len(), 1);
    is_there.store(false, Ordering::Relaxed);
    sleep(EVERY / 2).await;
    assert_eq!(cluster.workers().len(), 1, "nobody has asked");
    sleep(EVERY).await;
    assert_eq!(cluster.workers().len(), 0);
}

#[tokio::test(start_paused = true)]
async fn where_watches_are_not_allowed_lists_do() {
    let refusal = json!({
        "kind": "Status", "status": "Failure", "code": 403, "message": "no", "reason": "Forbidden",
    });
    let is_there = Arc::new(AtomicBool::new(true));
    let (cluster, _tasks) = follow(api(is_there.clone(), Some(refusal)));
    for there in [true, false, true] {
        is_there.store(there, Ordering::Relaxed);
        sleep(EVERY + LEAST).await;
        assert_eq!(cluster.workers().len(), usize::from(there));
    }
}

#[tokio::test]
async fn refusals_are_told_from_watches_that_have_had_their_time() {
    for (code, is_refused) in [(403, true), (500, true), (GONE, false)] {
        let status = json!({
            "kind": "Status", "status": "Failure", "code": code, "message": "no", "reason": "x",
        });
        for answer in [json!({ "type": "ERROR", "object": &status }), status.clone()] {
            let pods =
                Pods { namespace: None, port: 7, selectors: vec![(Role::Plain, "a=b".into())] };
            let source = Source::of(api(Arc::default(), Some(answer)), pods);
            let change = source.change(&["1".to_owned()]).await;
            assert_eq!(matches!(change, Err(PodsError::Watch(_))), is_refused, "{code}");
        }
    }
}
