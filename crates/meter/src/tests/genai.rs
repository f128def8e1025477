use std::{convert::Infallible, sync::Arc};

use http::{Request, Response};
use http_body_util::BodyExt;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder};
use tower::{Layer, ServiceExt, service_fn};

use super::{Body, DONE, Step, TOKEN, event_stream, full, sent, usage_event};
use crate::{
    GenAiSink, MeterLayer, PeekLayer,
    metrics::{GENAI_FAMILIES, Kind},
};

async fn page_of(responses: Vec<Response<Body>>) -> String {
    let mut builder = PrometheusBuilder::new();
    for family in GENAI_FAMILIES {
        let Kind::Histogram(bounds) = family.kind else { panic!("{} is none", family.name) };
        let name = Matcher::Full(family.name.to_owned());
        builder = builder.set_buckets_for_metric(name, bounds).unwrap();
    }
    let recorder = builder.build_recorder();
    let page = recorder.handle();
    let layer = MeterLayer::new(GenAiSink::new(Arc::new(recorder)));
    for response in responses {
        let mut response = Some(response);
        let service = service_fn(move |request: Request<_>| {
            let response = response.take().unwrap();
            async move {
                let _: Result<_, std::io::Error> = BodyExt::collect(request.into_body()).await;
                Ok::<_, Infallible>(response)
            }
        });
        let service = layer.layer(PeekLayer::new().layer(service));
        let request = Request::post("/v1/chat/completions").body(full(r#"{"model":"asked"}"#));
        drop(service.oneshot(request.unwrap()).await.unwrap().into_body().collect().await);
    }
    page.render()
}

#[track_caller]
fn assert_lines(page: &str, lines: &[&str]) {
    for line in lines {
        assert!(page.lines().any(|found| found == *line), "{line}\n{page}");
    }
}

#[tokio::test]
async fn names_attributes_and_buckets_are_those_of_the_convention() {
    let whole = sent(&[TOKEN, TOKEN, &usage_event(70, 3), DONE]);
    let page = page_of(vec![event_stream(whole)]).await;
    let of = "gen_ai_operation_name=\"chat\",gen_ai_provider_name=\"openai\",gen_ai_request_model=\"asked\",gen_ai_response_model=\"m\"";
    for (line, value) in [
        (format!("gen_ai_client_token_usage_sum{{{of},gen_ai_token_type=\"input\"}}"), "70"),
        (format!("gen_ai_client_token_usage_sum{{{of},gen_ai_token_type=\"output\"}}"), "3"),
        (
            format!(
                "gen_ai_client_token_usage_bucket{{{of},gen_ai_token_type=\"input\",le=\"64\"}}"
            ),
            "0",
        ),
        (
            format!(
                "gen_ai_client_token_usage_bucket{{{of},gen_ai_token_type=\"input\",le=\"256\"}}"
            ),
            "1",
        ),
        (format!("gen_ai_server_request_duration_seconds_count{{{of}}}"), "1"),
        (format!("gen_ai_server_request_duration_seconds_bucket{{{of},le=\"81.92\"}}"), "1"),
        (format!("gen_ai_server_time_to_first_token_seconds_count{{{of}}}"), "1"),
        (format!("gen_ai_server_time_per_output_token_seconds_bucket{{{of},le=\"2.5\"}}"), "1"),
    ] {
        assert_lines(&page, &[&format!("{line} {value}")]);
    }
}

#[tokio::test]
async fn what_is_not_exact_is_no_usage_and_what_failed_says_so() {
    let mut broken = sent(&[TOKEN]);
    broken.push(Step::Break);
    let mut refused = Response::new(full("{}"));
    *refused.status_mut() = http::StatusCode::TOO_MANY_REQUESTS;
    let page = page_of(vec![event_stream(broken), refused]).await;
    let usage: Vec<_> =
        page.lines().filter(|line| line.starts_with("gen_ai_client_token_usage_count")).collect();
    assert!(usage.iter().all(|line| line.ends_with(" 0")), "{usage:?}");
    for error in ["upstream_error", "429"] {
        let line = page.lines().find(|line| {
            line.starts_with("gen_ai_server_request_duration_seconds_count")
                && line.contains(&format!("error_type=\"{error}\""))
        });
        assert!(line.is_some_and(|line| line.ends_with(" 1")), "{error}\n{page}");
    }
}
