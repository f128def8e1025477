use std::{
    convert::Infallible,
    sync::{
        Arc,
        atomic::{AtomicU32, Ordering},
    },
};

use http::{Request, Response};
use http_body::Body as _;
use http_body_util::BodyExt;
use tower::{
    Layer, Service, ServiceBuilder, ServiceExt, buffer::BufferLayer, limit::ConcurrencyLimitLayer,
    service_fn,
};

use super::{Body, exchange, full};
use crate::{MeterLayer, Outcome, Record, sink_fn};

#[tokio::test]
async fn length_and_end_are_those_of_the_body() {
    let layer = MeterLayer::new(sink_fn(|_: &Record| {}));
    for text in ["", "0123456789"] {
        let service = layer.layer(service_fn(move |_: Request<Body>| async move {
            Ok::<_, Infallible>(Response::new(full(text)))
        }));
        let request = Request::post("/v1/embeddings").body(full("")).unwrap();
        let mut body = service.oneshot(request).await.unwrap().into_body();
        assert_eq!(body.size_hint().exact(), Some(text.len() as u64));
        assert_eq!(body.is_end_stream(), text.is_empty());
        if !text.is_empty() {
            let frame = body.frame().await.unwrap().unwrap();
            assert_eq!(frame.data_ref().unwrap(), text);
            assert!(body.is_end_stream());
        }
    }
}

#[tokio::test]
async fn a_body_that_is_never_polled_past_its_length_is_complete() {
    for (text, frames) in [("", 0), ("{}", 1)] {
        let records = exchange("/v1/embeddings", Response::new(full(text)), frames).await;
        let records = records.lock().unwrap();
        let outcomes: Vec<_> = records.iter().map(|record| record.outcome).collect();
        assert_eq!(outcomes, [Outcome::Complete], "{text:?}");
    }
}

#[tokio::test]
async fn the_service_polled_ready_is_the_one_called() {
    let (busy, most) = (Arc::new(AtomicU32::new(0)), Arc::new(AtomicU32::new(0)));
    let seen = most.clone();
    let service = ServiceBuilder::new()
        .layer(MeterLayer::new(sink_fn(|_: &Record| {})))
        .layer(BufferLayer::new(8))
        .layer(ConcurrencyLimitLayer::new(1))
        .service_fn(move |_: Request<Body>| {
            let (busy, most) = (busy.clone(), most.clone());
            async move {
                most.fetch_max(busy.fetch_add(1, Ordering::SeqCst) + 1, Ordering::SeqCst);
                tokio::task::yield_now().await;
                busy.fetch_sub(1, Ordering::SeqCst);
                Ok::<_, Infallible>(Response::new(full("{}")))
            }
        });
    let calls = (0..100).map(|_| {
        let mut service = service.clone();
        async move {
            let request = Request::post("/v1/embeddings").body(full("")).unwrap();
            service.ready().await.unwrap().call(request).await.unwrap()
        }
    });
    assert_eq!(futures_util::future::join_all(calls).await.len(), 100);
    assert_eq!(seen.load(Ordering::SeqCst), 1);
}

#[test]
fn bodies_and_futures_cross_threads() {
    fn check<T: Send + Sync>() {}
    check::<crate::MeteredBody<http_body_util::Full<bytes::Bytes>, crate::MetricsSink>>();
    check::<crate::MeteredFuture<std::future::Ready<()>, crate::MetricsSink>>();
    check::<crate::amend::AmendedBody<http_body_util::Full<bytes::Bytes>>>();
}
