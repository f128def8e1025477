use std::{convert::Infallible, sync::Arc, time::Duration};

use http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};
use plimsoll_wire::{Role, Upstream};
use tower::{Layer, ServiceExt, service_fn};

use super::{Body, DONE, Step, TOKEN, event_stream, full, sent, usage_event};
use crate::{
    MeterLayer, SmgSink,
    metrics::{Kind, SMG_FAMILIES},
};

const POLICIES: [(Role, &str); 2] = [(Role::Prefill, "least_kv"), (Role::Decode, "round_robin")];

async fn page_of(responses: Vec<Response<Body>>) -> String {
    let mut builder = PrometheusBuilder::new();
    for family in SMG_FAMILIES {
        if let Kind::Histogram(bounds) = family.kind {
            let name = Matcher::Full(family.name.to_owned());
            builder = builder.set_buckets_for_metric(name, bounds).unwrap();
        }
    }
    let recorder = builder.build_recorder();
    let page = recorder.handle();
    let sink = SmgSink::builder(Arc::new(recorder)).policies(POLICIES.into()).build();
    let layer = MeterLayer::new(sink);
    for response in responses {
        let mut response = Some(response);
        let service = layer.layer(service_fn(move |_: Request<Body>| {
            std::future::ready(Ok::<_, Infallible>(response.take().unwrap()))
        }));
        let request = Request::post("/v1/chat/completions").body(full("")).unwrap();
        drop(service.oneshot(request).await.unwrap().into_body().collect().await);
    }
    page.render()
}

/// An answer that came by a pair, at the given attempt.
fn by_pair(mut response: Response<Body>, attempts: u32) -> Response<Body> {
    let backoffs = (1..attempts).map(|retry| Duration::from_millis(40) * retry).collect();
    let (prefill, decode) = (Some("http://p".into()), Some("http://d".into()));
    let upstream = Upstream { prefill, decode, attempts, backoffs, ..Upstream::default() };
    response.extensions_mut().insert(upstream);
    response
}

fn status(status: StatusCode) -> Response<Body> {
    let mut response = Response::new(full("{\"error\":{}}"));
    *response.status_mut() = status;
    response
}

fn refused() -> Response<Body> {
    let mut response = status(StatusCode::SERVICE_UNAVAILABLE);
    response.extensions_mut().insert(Upstream { refused: true, ..Upstream::default() });
    response
}

#[track_caller]
fn assert_lines(page: &str, lines: &[String]) {
    for line in lines {
        assert!(page.lines().any(|found| found == *line), "{line}\n{page}");
    }
}

#[tokio::test(start_paused = true)]
async fn a_stream_by_a_pair() {
    let mut steps = vec![Step::Wait(20)];
    steps.extend(sent(&[TOKEN]));
    steps.push(Step::Wait(80));
    steps.extend(sent(&[TOKEN, &usage_event(70, 3), DONE]));
    let page = page_of(vec![by_pair(event_stream(steps), 3)]).await;
    let of = "router_type=\"http\",backend_type=\"pd\"";
    let model = "model=\"m\",endpoint=\"chat\"";
    let request = format!("{of},connection_mode=\"http\",{model}");
    let answer = format!("{of},{model}");
    let http = "method=\"POST\",path=\"/v1/chat/completions\"";
    let chosen = "connection_mode=\"http\",model=\"m\"";
    assert_lines(
        &page,
        &[
            format!("smg_http_requests_total{{{http}}} 1"),
            format!("smg_http_request_duration_seconds_sum{{{http}}} 0.1"),
            "smg_http_responses_total{status_code=\"200\",error_code=\"\"} 1".to_owned(),
            "smg_http_connections_active 0".to_owned(),
            format!("smg_router_requests_total{{{request},streaming=\"true\"}} 1"),
            format!("smg_router_request_duration_seconds_bucket{{{request},le=\"0.1\"}} 1"),
            format!("smg_router_tokens_total{{{answer},token_type=\"input\"}} 70"),
            format!("smg_router_tokens_total{{{answer},token_type=\"output\"}} 3"),
            format!("smg_router_ttft_seconds_sum{{{answer}}} 0.02"),
            format!("smg_router_tpot_seconds_sum{{{answer}}} 0.04"),
            format!("smg_router_generation_duration_seconds_sum{{{answer}}} 0.1"),
            format!(
                "smg_worker_selection_total{{worker_type=\"prefill\",{chosen},policy=\"least_kv\"}} 3"
            ),
            format!(
                "smg_worker_selection_total{{worker_type=\"decode\",{chosen},policy=\"round_robin\"}} 3"
            ),
            "smg_worker_retries_total{worker_type=\"decode\",endpoint=\"chat\"} 2".to_owned(),
            "smg_worker_retries_exhausted_total{worker_type=\"decode\",endpoint=\"chat\"} 0"
                .to_owned(),
            "smg_worker_retry_backoff_seconds_sum{attempt=\"1\"} 0.04".to_owned(),
            "smg_worker_retry_backoff_seconds_sum{attempt=\"2\"} 0.08".to_owned(),
        ],
    );
    assert!(!page.contains("smg_router_request_errors_total{"), "{page}");
}

#[tokio::test]
async fn errors_say_who_is_to_blame() {
    let mut broken = sent(&[TOKEN]);
    broken.push(Step::Break);
    let page = page_of(vec![
        by_pair(status(StatusCode::BAD_REQUEST), 1),
        by_pair(status(StatusCode::GATEWAY_TIMEOUT), 1),
        by_pair(status(StatusCode::BAD_GATEWAY), 6),
        by_pair(event_stream(broken), 2),
        refused(),
    ])
    .await;
    let count = |family: &str, label: &str| {
        let lines = page.lines().filter(|line| line.starts_with(&format!("{family}{{")));
        let lines = lines.filter(|line| line.contains(label));
        lines.map(|line| line.rsplit(' ').next().unwrap().parse::<u64>().unwrap()).sum::<u64>()
    };
    for (error_type, want) in
        [("validation_error", 1), ("timeout", 1), ("backend_error", 2), ("no_workers", 1)]
    {
        let label = format!("error_type=\"{error_type}\"");
        assert_eq!(count("smg_router_request_errors_total", &label), want, "{page}");
    }
    let exhausted = "worker_type=\"prefill\"";
    assert_eq!(count("smg_worker_retries_exhausted_total", exhausted), 1);
    assert_eq!(count("smg_worker_retries_total", exhausted), 5 + 1);
    assert_eq!(count("smg_worker_selection_total", exhausted), 1 + 1 + 6 + 2);
    assert_eq!(count("smg_http_responses_total", "error_code=\"rejected\""), 1);
    assert_eq!(count("smg_http_responses_total", "error_code=\"\""), 1);
    // Nothing exact was stated, and only one answer was no error.
    assert_eq!(count("smg_router_tokens_total", "token_type"), 0);
    assert_eq!(count("smg_router_request_duration_seconds_count", "pd"), 1);
}
