//! The layer over services of other kinds than the router.

use std::convert::Infallible;

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, StatusCode};
use http_body::{Body as _, Frame};
use http_body_util::{BodyExt, StreamBody};
use tower::{Layer, ServiceExt, service_fn};

use super::{Body, full, one, recording};
use crate::{Completeness, Endpoint, Outcome, PeekLayer, Record};

const CHAT: &str = "/v1/chat/completions";

/// The answer of a gRPC service: one message, then trailers.
fn grpc(status: Option<&'static str>) -> Response<Body> {
    let trailers = status.map(|status| {
        HeaderMap::from_iter([("grpc-status".parse().unwrap(), HeaderValue::from_static(status))])
    });
    let frames = [Frame::data(Bytes::from_static(b"\0\0\0\0\x02hi"))];
    let frames =
        frames.into_iter().chain(trailers.map(Frame::trailers)).map(Ok::<_, std::io::Error>);
    let body = BodyExt::boxed(StreamBody::new(futures_util::stream::iter(frames)));
    Response::builder().header("content-type", "application/grpc").body(body).unwrap()
}

#[tokio::test]
async fn a_grpc_call_is_judged_by_its_status() {
    for (status, outcome) in [
        (Some("0"), Outcome::Complete),
        (Some("13"), Outcome::UpstreamError),
        (Some("3"), Outcome::ClientError),
        (None, Outcome::Truncated),
    ] {
        let record = one(CHAT, grpc(status), 9).await;
        assert_eq!(record.outcome, outcome, "{status:?}");
        assert_eq!((record.status, record.completeness), (Some(200), Completeness::Unreadable));
    }
    let mut only_headers = Response::new(full(""));
    only_headers.headers_mut().insert("content-type", HeaderValue::from_static("application/grpc"));
    only_headers.headers_mut().insert("grpc-status", HeaderValue::from_static("14"));
    assert_eq!(one(CHAT, only_headers, 9).await.outcome, Outcome::UpstreamError);
}

#[tokio::test]
async fn trailers_pass() {
    let (layer, _) = recording();
    let service = layer.layer(service_fn(|_: Request<Body>| {
        std::future::ready(Ok::<_, Infallible>(grpc(Some("0"))))
    }));
    let request = Request::post(CHAT).body(full("")).unwrap();
    let body = service.oneshot(request).await.unwrap().into_body().collect().await.unwrap();
    assert_eq!(body.trailers().unwrap()["grpc-status"], "0");
}

/// Whoever serves them never reads their bodies.
#[tokio::test]
async fn answers_without_a_body_are_whole_at_their_head() {
    for (method, status) in [("HEAD", 200), ("POST", 204), ("POST", 304), ("GET", 101)] {
        let (layer, records) = recording();
        let service = layer.layer(service_fn(move |_: Request<Body>| {
            let response =
                Response::builder().status(status).header("content-type", "text/event-stream");
            std::future::ready(Ok::<_, Infallible>(response.body(full("never sent")).unwrap()))
        }));
        let request = Request::builder().method(method).uri(CHAT).body(full("")).unwrap();
        drop(service.oneshot(request).await.unwrap());
        let records = records.lock().unwrap();
        let seen: Vec<_> =
            records.iter().map(|record| (record.outcome, record.completeness)).collect();
        assert_eq!(seen, [(Outcome::Complete, Completeness::Absent)], "{method} {status}");
    }
}

/// The connection is handed over in the response's extensions.
#[tokio::test]
async fn an_upgrade_keeps_what_it_carries() {
    #[derive(Clone, Debug, PartialEq)]
    struct OnUpgrade(u32);
    let (layer, _) = recording();
    let service = layer.layer(service_fn(|_: Request<Body>| {
        let mut response = Response::new(full(""));
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        response.extensions_mut().insert(OnUpgrade(7));
        std::future::ready(Ok::<_, Infallible>(response))
    }));
    let request = Request::get("/v1/realtime").body(full("")).unwrap();
    let response = service.oneshot(request).await.unwrap();
    assert_eq!(response.extensions().get(), Some(&OnUpgrade(7)));
}

#[tokio::test]
async fn an_encoding_passes_and_is_unreadable() {
    for (encoding, completeness) in [
        ("gzip", Completeness::Unreadable),
        ("identity, br", Completeness::Unreadable),
        ("Identity", Completeness::Exact),
    ] {
        let body = r#"{"usage":{"prompt_tokens":7,"completion_tokens":3}}"#;
        let response = Response::builder().header("content-encoding", encoding).body(full(body));
        assert_eq!(one(CHAT, response.unwrap(), 9).await.completeness, completeness, "{encoding}");
    }
}

/// A service that reads its request, below a layer that looks at it, and answers 400.
async fn refused(body: Body, content_type: &str, max_body: u64) -> (Record, Bytes) {
    let (layer, records) = recording();
    let got = std::sync::Arc::new(std::sync::Mutex::new(Bytes::new()));
    let seen = got.clone();
    let service = service_fn(move |request: Request<crate::peek::PeekedBody<Body>>| {
        let seen = seen.clone();
        async move {
            *seen.lock().unwrap() = request.into_body().collect().await.unwrap().to_bytes();
            let response = Response::builder().status(400).body(full("{}"));
            Ok::<_, Infallible>(response.unwrap())
        }
    });
    let service = layer.layer(PeekLayer::new().max_body(max_body).layer(service));
    let request = Request::post(CHAT).header("content-type", content_type).body(body).unwrap();
    let response = service.oneshot(request).await.unwrap();
    response.into_body().collect().await.unwrap();
    let record = records.lock().unwrap().remove(0);
    let got = got.lock().unwrap().clone();
    (record, got)
}

#[tokio::test]
async fn an_error_is_labelled_as_the_request_asks() {
    let body = r#"{"model":"asked","stream":true,"messages":[]}"#;
    let pieces = || {
        let pieces =
            body.as_bytes().chunks(7).map(|piece| Ok(Frame::data(Bytes::copy_from_slice(piece))));
        let pieces: Vec<Result<_, std::io::Error>> = pieces.collect();
        BodyExt::boxed(StreamBody::new(futures_util::stream::iter(pieces)))
    };
    for (content_type, max_body, model) in [
        ("application/json", 100, Some("asked")),
        ("application/json", 20, None),
        ("multipart/form-data", 100, None),
    ] {
        for body_as in [full(body), pieces()] {
            let (record, got) = refused(body_as, content_type, max_body).await;
            assert_eq!(record.model.as_deref(), model, "{content_type} {max_body}");
            assert_eq!((record.stream, got), (model.is_some(), Bytes::from(body)));
        }
    }
}

#[test]
fn a_peeked_body_is_framed_as_it_was() {
    let mut slot = None;
    let service =
        PeekLayer::new().layer(service_fn(|request: Request<crate::peek::PeekedBody<Body>>| {
            slot = Some(request.into_body());
            std::future::ready(Ok::<_, Infallible>(()))
        }));
    let request = Request::post(CHAT).body(full("0123456789")).unwrap();
    let _ = futures_util::FutureExt::now_or_never(service.oneshot(request));
    let body = slot.unwrap();
    assert_eq!((body.size_hint().exact(), body.is_end_stream()), (Some(10), false));
}

/// A path that no rule names is what the host says it is.
#[tokio::test]
async fn paths_of_the_hosts_own() {
    let (layer, records) = recording();
    let layer = layer.classify(|path| (path == "/llm.Chat/Generate").then_some(Endpoint::Chat));
    let service = layer.layer(service_fn(|_: Request<Body>| {
        std::future::ready(Ok::<_, Infallible>(grpc(Some("0"))))
    }));
    for path in ["/llm.Chat/Generate", CHAT] {
        let request = Request::post(path).body(full("")).unwrap();
        service.clone().oneshot(request).await.unwrap().into_body().collect().await.unwrap();
    }
    let endpoints: Vec<_> = records.lock().unwrap().iter().map(|record| record.endpoint).collect();
    assert_eq!(endpoints, [Endpoint::Chat]);
}
