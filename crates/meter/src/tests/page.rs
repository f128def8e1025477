use std::{collections::BTreeSet, convert::Infallible, sync::Arc, time::Duration};

use http::{Request, Response};
use http_body_util::BodyExt;
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use plimsoll_wire::{
    Upstream,
    upstream::{PrefillReply, PrefillReport},
};
use tower::{Layer, ServiceExt, service_fn};

use super::{Body, DONE, TOKEN, event_stream, full, sent, usage_event};
use crate::{
    MeterLayer, MetricsSink,
    metrics::{FAMILIES, Kind},
};

/// A sink under `prefix` and the page that shows it.
fn sink(prefix: &str) -> (MetricsSink, PrometheusHandle) {
    let mut builder = PrometheusBuilder::new();
    for family in FAMILIES {
        if let Kind::Histogram(bounds) = family.kind {
            let name = Matcher::Full(format!("{prefix}_{}", family.name));
            builder = builder.set_buckets_for_metric(name, bounds).unwrap();
        }
    }
    let recorder = builder.build_recorder();
    let page = recorder.handle();
    (MetricsSink::builder(Arc::new(recorder)).prefix(prefix).max_models(2).tenants(2).build(), page)
}

async fn send(sink: MetricsSink, responses: impl IntoIterator<Item = Response<Body>>) {
    let layer = MeterLayer::new(sink);
    for response in responses {
        let mut response = Some(response);
        let service = layer.layer(service_fn(move |_: Request<Body>| {
            std::future::ready(Ok::<_, Infallible>(response.take().unwrap()))
        }));
        let request = Request::post("/v1/chat/completions").body(full("")).unwrap();
        drop(service.oneshot(request).await.unwrap().into_body().collect().await);
    }
}

#[tokio::test]
async fn every_family_is_on_the_page_with_its_kind() {
    let (sink, page) = sink("plimsoll");
    let counts = usage_event(7, 3).replace("}}", ",\"reasoning_tokens\":2}}");
    let whole = sent(&[TOKEN, TOKEN, &counts, DONE]);
    let mut of_pair = event_stream(whole);
    let (reporter, reply) = PrefillReply::channel();
    reporter.send(PrefillReport { usage: None, duration: Duration::from_millis(30) });
    let upstream = Upstream { prefill_reply: Some(reply), ..Upstream::default() };
    of_pair.extensions_mut().insert(upstream);
    send(sink, vec![of_pair, event_stream(sent(&[TOKEN]))]).await;
    let page = page.render();
    for family in FAMILIES {
        let kind = match family.kind {
            Kind::Counter => "counter",
            Kind::Gauge => "gauge",
            Kind::Histogram(_) => "histogram",
        };
        assert!(page.contains(&format!("# TYPE plimsoll_{} {kind}\n", family.name)), "{page}");
    }
    let labels = "endpoint=\"chat\",model=\"m\"";
    for line in [
        format!("requests_total{{{labels},stream=\"true\",outcome=\"complete\",code=\"200\"}} 1"),
        format!("requests_total{{{labels},stream=\"true\",outcome=\"truncated\",code=\"200\"}} 1"),
        format!("prompt_tokens_total{{{labels},stream=\"true\"}} 7"),
        format!("completion_tokens_total{{{labels},stream=\"true\"}} 3"),
        format!("reasoning_tokens_total{{{labels},stream=\"true\"}} 2"),
        format!("cached_prompt_tokens_total{{{labels},stream=\"true\"}} 0"),
        format!("cache_reported_prompt_tokens_total{{{labels},stream=\"true\"}} 0"),
        format!("partial_completion_tokens_total{{{labels}}} 1"),
        format!("usage_total{{{labels},stream=\"true\",completeness=\"exact\"}} 1"),
        format!("usage_total{{{labels},stream=\"true\",completeness=\"partial\"}} 1"),
        format!("inter_chunk_seconds_count{{{labels}}} 1"),
        format!("request_prompt_tokens_sum{{{labels}}} 7"),
        "prefill_duration_seconds_count{model=\"m\"} 1".to_owned(),
        format!("usage_anomalies_total{{{labels}}} 0"),
        format!("time_per_output_token_seconds_count{{{labels}}} 1"),
    ] {
        assert!(page.lines().any(|found| found == format!("plimsoll_{line}")), "{line}\n{page}");
    }
}

#[tokio::test]
async fn two_layers_keep_pages_of_their_own() {
    let ((one, page_of_one), (other, page_of_other)) = (sink("one"), sink("other"));
    send(one, vec![Response::new(full("{}"))]).await;
    send(other, vec![]).await;
    assert!(page_of_one.render().contains("one_requests_total{"));
    let other = page_of_other.render();
    assert!(other.contains("other_requests_in_flight{") && !other.contains("requests_total{"));
}

#[tokio::test]
async fn junk_models_make_no_series() {
    let (sink, page) = sink("plimsoll");
    let answers = (0..50).map(|n| Response::new(full(format!("{{\"model\":\"junk-{n}\"}}"))));
    send(sink, answers).await;
    let page = page.render();
    let models: BTreeSet<_> =
        page.lines().filter_map(|line| line.split("model=\"").nth(1)?.split('"').next()).collect();
    assert_eq!(models, BTreeSet::from(["junk-0", "junk-1", "other"]));
}
