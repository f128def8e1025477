use std::sync::Arc;

use bytes::Bytes;
use http::{HeaderValue, Request, StatusCode};
use http_body_util::{BodyExt, Full};
use plimsoll_wire::{Backend, Role};
use serde_json::{Value, json};
use tower_service::Service;

use super::{PeerAddr, percent_decoded};
use crate::{Cluster, Router, RouterConfig, workers::Place};

const HERE: &str = "127.0.0.1:5";
const ELSEWHERE: &str = "10.0.0.1:5";

/// A router for plain workers, with one of them, and perhaps with a key.
fn router(key: Option<&'static str>) -> (Router, Arc<Cluster>) {
    let backend = Backend { url: "http://a:1".into(), role: Role::Plain, bootstrap_port: None };
    let mut config = RouterConfig::new(vec![backend]);
    config.authorization = key.map(HeaderValue::from_static);
    let cluster = Cluster::new(config);
    (Router::new(cluster.clone()), cluster)
}

/// Status and body of an answer.
async fn ask(
    router: &mut Router,
    line: &str,
    body: &'static str,
    peer: &str,
    key: Option<&str>,
) -> (StatusCode, Value) {
    let (method, path) = line.split_once(' ').unwrap();
    let mut request = Request::builder().method(method).uri(path);
    request = request.extension(PeerAddr(peer.parse().unwrap()));
    if let Some(key) = key {
        request = request.header("authorization", key);
    }
    let request = request.body(Full::new(Bytes::from_static(body.as_bytes()))).unwrap();
    let response = router.call(request).await.unwrap();
    let status = response.status();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, serde_json::from_slice(&body).unwrap())
}

#[tokio::test]
async fn a_worker_comes_and_goes() {
    let (mut router, cluster) = router(None);
    let body = r#"{"url":"http://b:2/"}"#;
    let (status, entry) = ask(&mut router, "POST /workers", body, HERE, None).await;
    let wanted = json!({
        "url": "http://b:2", "role": "plain", "bootstrap_port": null, "up": false,
        "eligible": false, "reason": "not probed yet", "breaker": "closed", "in_flight": 0,
        "engine": null, "models": [],
    });
    assert_eq!((status, &entry), (StatusCode::CREATED, &wanted));
    let (status, listing) = ask(&mut router, "GET /workers", "", ELSEWHERE, None).await;
    assert_eq!((status, &listing["workers"][1]), (StatusCode::OK, &wanted));
    let (status, error) = ask(&mut router, "POST /workers", body, HERE, None).await;
    assert_eq!((status, &error["error"]["code"]), (StatusCode::CONFLICT, &"worker_exists".into()));

    let gone = json!({"url": "http://b:2", "state": "removed"});
    let delete = "DELETE /workers/http%3A%2F%2Fb%3a2";
    assert_eq!(ask(&mut router, delete, "", HERE, None).await, (StatusCode::OK, gone));
    let (status, error) = ask(&mut router, delete, "", HERE, None).await;
    assert_eq!(status, StatusCode::NOT_FOUND);
    assert!(error["error"]["message"].as_str().unwrap().contains("http://b:2"), "{error}");

    let _leg = Place::take(&cluster.workers()[0]).unwrap();
    let draining = json!({"url": "http://a:1", "state": "draining"});
    let delete = "DELETE /workers/http://a:1";
    assert_eq!(ask(&mut router, delete, "", HERE, None).await, (StatusCode::ACCEPTED, draining));
    let (_, listing) = ask(&mut router, "GET /workers", "", HERE, None).await;
    let entry = &listing["workers"][0];
    assert_eq!((&entry["reason"], &entry["in_flight"]), (&"draining".into(), &1.into()));
}

#[tokio::test]
async fn what_is_refused_changes_nothing() {
    let (mut router, cluster) = router(None);
    for (body, param) in [
        ("{", Value::Null),
        (r#"{"url":"http://b","weight":1}"#, Value::Null),
        (r#"{"url":"b"}"#, "url".into()),
        (r#"{"url":"ftp://b"}"#, "url".into()),
        (r#"{"url":"http://b","role":"both"}"#, "role".into()),
        (r#"{"url":"http://b","role":"decode"}"#, "role".into()),
    ] {
        let (status, error) = ask(&mut router, "POST /workers", body, HERE, None).await;
        assert_eq!((status, &error["error"]["param"]), (StatusCode::BAD_REQUEST, &param), "{body}");
    }
    let large = format!("{{\"url\":\"{}\"}}", "a".repeat(70_000)).leak();
    let (status, _) = ask(&mut router, "POST /workers", large, HERE, None).await;
    assert_eq!(status, StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!((cluster.workers().len(), *cluster.changes().borrow()), (1, 1));
}

#[tokio::test]
async fn who_may_change_the_workers() {
    const KEY: &str = "Bearer right";
    const ADD: &str = r#"{"url":"http://b"}"#;
    for (configured, peer, sent, read, change) in [
        (None, HERE, None, 200, 201),
        (None, ELSEWHERE, None, 200, 403),
        (None, ELSEWHERE, Some(KEY), 200, 403),
        (Some(KEY), HERE, None, 401, 401),
        (Some(KEY), HERE, Some("Bearer wrong"), 401, 401),
        (Some(KEY), ELSEWHERE, Some(KEY), 200, 201),
    ] {
        let (mut router, _) = router(configured);
        let case = format!("{configured:?} {peer} {sent:?}");
        let (status, _) = ask(&mut router, "GET /workers", "", peer, sent).await;
        assert_eq!(status, read, "{case}");
        let (status, answer) = ask(&mut router, "POST /workers", ADD, peer, sent).await;
        assert_eq!(status, change, "{case}: {answer}");
        let (status, _) = ask(&mut router, "DELETE /workers/http:%2F%2Fb", "", peer, sent).await;
        assert_eq!(status, if change == 201 { 200 } else { change }, "{case}");
    }
}

#[test]
fn percent_encodings() {
    for (text, decoded) in [
        ("http%3A%2F%2F%5B%3a%3A1%5D%3A80", "http://[::1]:80"),
        ("http://a:1", "http://a:1"),
        ("%", "%"),
        ("%4", "%4"),
        ("%4g%zz%41", "%4g%zzA"),
        ("%C3%A9%FF", "é\u{fffd}"),
    ] {
        assert_eq!(percent_decoded(text), decoded);
    }
}
