use std::{collections::BTreeMap, convert::Infallible, sync::Arc};

use http::{HeaderName, Request, Response};
use http_body_util::BodyExt;
use metrics_exporter_prometheus::PrometheusBuilder;
use tower::{Layer, ServiceExt, service_fn};

use super::{Body, full};
use crate::{MeterLayer, MetricsSink, tenant_header};

const ANSWER: &str = r#"{"model":"m","usage":{"prompt_tokens":7,"completion_tokens":3}}"#;

/// The page after one request of each tenant.
async fn page_of(tenants: impl IntoIterator<Item = Option<String>>, max: usize) -> String {
    let recorder = PrometheusBuilder::new().build_recorder();
    let page = recorder.handle();
    let sink = MetricsSink::builder(Arc::new(recorder)).tenants(max).build();
    let header = HeaderName::from_static("x-tenant");
    let layer = MeterLayer::new(sink).tenant(tenant_header(header.clone()).unwrap());
    let service = layer.layer(service_fn(|_: Request<Body>| {
        std::future::ready(Ok::<_, Infallible>(Response::new(full(ANSWER))))
    }));
    for tenant in tenants {
        let mut request = Request::post("/v1/embeddings");
        if let Some(tenant) = tenant {
            request = request.header(&header, tenant);
        }
        let request = request.header("authorization", "Bearer sk-1").body(full("")).unwrap();
        service.clone().oneshot(request).await.unwrap().into_body().collect().await.unwrap();
    }
    page.render()
}

/// Tokens by tenant.
fn charges(page: &str, kind: &str) -> BTreeMap<String, u64> {
    let lines = page.lines().filter(|line| line.starts_with("plimsoll_tenant_tokens_total{"));
    let of_kind = lines.filter(|line| line.contains(&format!("kind=\"{kind}\"")));
    of_kind
        .map(|line| {
            let tenant = line.split("tenant=\"").nth(1).unwrap().split('"').next().unwrap();
            (tenant.to_owned(), line.rsplit(' ').next().unwrap().parse().unwrap())
        })
        .collect()
}

#[tokio::test]
async fn tenants_past_the_cap_are_other_and_the_sums_are_the_totals() {
    let page = page_of(('a'..='z').map(|name| Some(name.to_string())), 10).await;
    for (kind, tokens) in [("prompt", 7), ("completion", 3)] {
        let charges = charges(&page, kind);
        assert_eq!((charges.len(), charges["a"], charges["other"]), (11, tokens, 16 * tokens));
        let total = format!(
            "plimsoll_{kind}_tokens_total{{endpoint=\"embeddings\",model=\"m\",stream=\"false\"}} {}",
            26 * tokens
        );
        assert_eq!(charges.values().sum::<u64>(), 26 * tokens);
        assert!(page.lines().any(|line| line == total), "{page}");
    }
}

#[tokio::test]
async fn requests_of_nobody_are_unknown_and_keys_are_nobodys_name() {
    let page = page_of([None, Some("sk-1".to_owned()), Some("a".to_owned())], 10).await;
    let charges = charges(&page, "prompt");
    assert_eq!(charges, BTreeMap::from([("unknown".to_owned(), 14), ("a".to_owned(), 7)]));
    assert!(!page.contains("sk-1"), "{page}");
}
