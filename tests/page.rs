//! The metrics page: every family of the contract, well formed, and nothing counted that is no
//! request.

use std::{collections::BTreeSet, io::Read};

use plimsoll_sim::{SimConfig, replay::Reply};

use crate::support::{Page, Plimsoll, Sample, bounded, chat, replay, sim_pair};

const CHAT: &str = "/v1/chat/completions";

/// The request accounting of the contract: family, type, labels.
const FAMILIES: [(&str, &str, &[&str]); 16] = [
    ("requests_total", "counter", &["endpoint", "model", "stream", "outcome", "code"]),
    ("requests_in_flight", "gauge", &["endpoint"]),
    ("request_duration_seconds", "histogram", &["endpoint", "model", "stream"]),
    ("time_to_first_byte_seconds", "histogram", &["endpoint", "model", "stream"]),
    ("time_to_first_token_seconds", "histogram", &["endpoint", "model"]),
    ("time_per_output_token_seconds", "histogram", &["endpoint", "model"]),
    ("inter_chunk_seconds", "histogram", &["endpoint", "model"]),
    ("prompt_tokens_total", "counter", &["endpoint", "model", "stream"]),
    ("completion_tokens_total", "counter", &["endpoint", "model", "stream"]),
    ("cached_prompt_tokens_total", "counter", &["endpoint", "model", "stream"]),
    ("reasoning_tokens_total", "counter", &["endpoint", "model", "stream"]),
    ("cache_reported_prompt_tokens_total", "counter", &["endpoint", "model", "stream"]),
    ("partial_completion_tokens_total", "counter", &["endpoint", "model"]),
    ("usage_total", "counter", &["endpoint", "model", "stream", "completeness"]),
    ("request_prompt_tokens", "histogram", &["endpoint", "model"]),
    ("request_completion_tokens", "histogram", &["endpoint", "model"]),
];

/// What routing adds.
const WORKERS: [(&str, &str, &[&str]); 4] = [
    ("attempts_total", "counter", &["role", "worker", "result"]),
    ("worker_in_flight", "gauge", &["worker", "role"]),
    ("worker_up", "gauge", &["worker", "role"]),
    ("worker_eligible", "gauge", &["worker", "role"]),
];

/// Buckets reach at least from here to there.
const REACH: [(&str, f64, f64); 7] = [
    ("time_to_first_token_seconds", 0.001, 120.0),
    ("time_to_first_byte_seconds", 0.001, 120.0),
    ("request_duration_seconds", 0.005, 3600.0),
    ("inter_chunk_seconds", 0.001, 10.0),
    ("time_per_output_token_seconds", 0.001, 10.0),
    ("request_prompt_tokens", 1.0, 1_048_576.0),
    ("request_completion_tokens", 1.0, 1_048_576.0),
];

/// A router that has seen a bit of everything, and its page.
async fn used() -> (Plimsoll, Page) {
    used_with("").await
}

/// The same, started with `flags`.
pub(crate) async fn used_with(flags: &str) -> (Plimsoll, Page) {
    // Readings come at moments of their own; without them the page stays as it is.
    let flags = format!("--scrape-interval-ms 3600000 {flags}");
    let config = SimConfig::default().cache_report(true);
    let (router, _prefill, _decode) = sim_pair(config, &flags).await;
    for (path, body) in [
        (CHAT, chat(",\"max_tokens\":5,\"stream\":true")),
        (CHAT, chat(",\"max_tokens\":5")),
        ("/v1/completions", "{\"prompt\":\"a b\",\"max_tokens\":3,\"stream\":true}".to_owned()),
        ("/generate", "{\"text\":\"a b\",\"sampling_params\":{\"max_new_tokens\":3}}".to_owned()),
        (CHAT, chat(",\"n\":2")),
        ("/v1/embeddings", "{}".to_owned()),
    ] {
        router.post(path, body).send().await;
    }
    let page = router.settled(6).await;
    (router, page)
}

/// Samples of a family, those of a histogram's parts included.
pub(crate) fn samples<'a>(page: &'a Page, family: &'a str) -> impl Iterator<Item = &'a Sample> {
    page.samples.iter().filter(move |sample| {
        let part = sample.name.strip_prefix(family);
        part.is_some_and(|part| ["", "_bucket", "_sum", "_count"].contains(&part))
    })
}

#[tokio::test]
async fn every_family_of_the_contract_is_there() {
    bounded(async {
        let (_router, page) = used().await;
        for (name, kind, labels) in FAMILIES.into_iter().chain(WORKERS) {
            let name = format!("plimsoll_{name}");
            let types: Vec<_> = page.types.iter().filter(|(family, _)| *family == name).collect();
            assert_eq!(types, [&(name.clone(), kind.to_owned())], "{page}");
            let mut labels: BTreeSet<_> = labels.iter().copied().collect();
            let found: Vec<_> = samples(&page, &name).collect();
            assert!(!found.is_empty(), "{name} has no sample");
            for sample in found {
                let has: BTreeSet<_> = sample.labels.keys().map(String::as_str).collect();
                if sample.name.ends_with("_bucket") {
                    labels.insert("le");
                } else {
                    labels.remove("le");
                }
                assert_eq!(has, labels, "{name}");
            }
        }
        assert_eq!(page.count("plimsoll_build_info", &[]), 1);
        assert!(!page.to_string().contains("vllm:") && !page.to_string().contains("sglang:"));
    })
    .await;
}

#[tokio::test]
async fn the_page_is_well_formed() {
    bounded(async {
        let (router, page) = used().await;
        let families: Vec<_> = page.types.iter().map(|(name, _)| name).collect();
        assert!(families.is_sorted(), "{families:?}");
        let distinct: BTreeSet<_> = families.iter().collect();
        assert_eq!(distinct.len(), families.len());
        let mut series = BTreeSet::new();
        for sample in &page.samples {
            assert!(series.insert((&sample.name, &sample.labels)), "{} twice", sample.name);
            let owners = page.types.iter().filter(|(family, kind)| {
                let exact = kind != "histogram" && *family == sample.name;
                let part = sample.name.strip_prefix(family.as_str());
                exact
                    || (kind == "histogram"
                        && part.is_some_and(|part| ["_bucket", "_sum", "_count"].contains(&part)))
            });
            assert_eq!(owners.count(), 1, "{}", sample.name);
        }
        let text = page.to_string();
        assert!(text.ends_with('\n') && !text.ends_with("\n\n") && !text.contains('\r'));
        for (family, kind) in &page.types {
            assert!(text.contains(&format!("# HELP {family} ")), "{family}");
            assert_eq!(kind == "counter", family.ends_with("_total"), "{family}");
            // All lines of a family stand together.
            let block =
                text.split("# HELP ").find(|block| block.starts_with(&format!("{family} ")));
            let lines = block.into_iter().flat_map(str::lines).skip(1);
            let lines = lines.filter(|line| !line.is_empty() && !line.starts_with('#')).count();
            assert_eq!(lines, samples(&page, family).count(), "{family}");
        }
        assert_eq!(
            router.ask_metrics("/metrics").send().await.header("content-type"),
            Some("text/plain; version=0.0.4; charset=utf-8")
        );
    })
    .await;
}

#[tokio::test]
async fn histograms_have_buckets_that_reach() {
    bounded(async {
        let (_router, page) = used().await;
        for (name, least, most) in REACH {
            let bucket = format!("plimsoll_{name}_bucket");
            let count = format!("plimsoll_{name}_count");
            let mut series = BTreeSet::new();
            for sample in page.samples.iter().filter(|sample| sample.name == bucket) {
                let mut labels = sample.labels.clone();
                labels.remove("le");
                series.insert(labels);
            }
            assert!(!series.is_empty(), "{name}");
            for labels in series {
                let labels: Vec<_> = labels.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
                let of = page.samples.iter().filter(|s| s.name == bucket && s.has(&labels));
                let buckets: Vec<(f64, f64)> = of
                    .map(|sample| (sample.labels["le"].parse().expect("a bound"), sample.value))
                    .collect();
                assert!(buckets.is_sorted_by(|a, b| a.0 < b.0 && a.1 <= b.1), "{buckets:?}");
                let (last, total) = buckets[buckets.len() - 1];
                assert!(last.is_infinite() && total == page.sum(&count, &labels));
                assert!(buckets[0].0 <= least && buckets[buckets.len() - 2].0 >= most, "{name}");
            }
        }
        assert_eq!(page.count("plimsoll_request_completion_tokens_count", &[]), 4);
        assert_eq!(page.count("plimsoll_request_completion_tokens_sum", &[]), 16);
        assert_eq!(page.count("plimsoll_time_per_output_token_seconds_count", &[]), 2);
    })
    .await;
}

#[tokio::test]
async fn gzip_the_slash_and_other_paths() {
    bounded(async {
        let (router, page) = used().await;
        let zipped = router.ask_metrics("/metrics").header("accept-encoding", "gzip").send().await;
        assert_eq!(zipped.header("content-encoding"), Some("gzip"));
        let mut text = String::new();
        let body = zipped.body();
        flate2::read::GzDecoder::new(&*body).read_to_string(&mut text).expect("gzip");
        assert_eq!(text, page.to_string());
        let plain = router.ask_metrics("/metrics/").send().await;
        assert_eq!((plain.header("content-encoding"), plain.text()), (None, text));
        let health = router.ask_metrics("/healthz").send().await;
        assert_eq!((health.status, &*health.text()), (200, "ok\n"));
        let dashboard = router.ask_metrics("/").send().await;
        assert_eq!(dashboard.header("content-type"), Some("text/html; charset=utf-8"));
        let policy = dashboard.header("content-security-policy").expect("a policy");
        assert!(policy.contains("default-src 'none'") && policy.contains("connect-src 'self'"));
        assert!(dashboard.text().ends_with("</html>\n"));
        assert_eq!(router.ask_metrics("/nowhere").send().await.status, 404);
    })
    .await;
}

#[tokio::test]
async fn probes_are_no_requests() {
    bounded(async {
        let (router, _prefill, _decode) = sim_pair(SimConfig::default(), "").await;
        for _ in 0..100 {
            for path in ["/health", "/v1/models", "/readiness"] {
                assert_eq!(router.get(path).send().await.status, 200);
            }
        }
        for path in ["/get_server_info", "/v1/loads", "/metrics", "/nowhere", "/health_generate"] {
            router.get(path).send().await;
        }
        let page = router.settled(0).await;
        assert_eq!(page.count("plimsoll_attempts_total", &[("result", "status_5xx")]), 0);
        router.post(CHAT, chat("")).send().await;
        let page = router.settled(1).await;
        assert_eq!(page.count("plimsoll_requests_total", &[("endpoint", "chat")]), 1);
    })
    .await;
}

/// A model that no worker serves is bounded; one that a worker serves has its own name.
#[tokio::test]
async fn model_names_are_bounded() {
    bounded(async {
        let engine = replay(|_| {
            let body = "{\"choices\":[],\"usage\":{\"prompt_tokens\":1,\"completion_tokens\":1}}";
            Reply::json(200, body)
        });
        let engine = engine.await;
        let line = format!("--worker-urls {} --model-label-max 2", engine.url());
        let router = Plimsoll::start(&line).await;
        assert_eq!(router.models(1).await, ["replay"]);
        for model in ["a", "b", "c", "d", "a", "replay"] {
            let body = format!("{{\"model\":\"{model}\",\"messages\":[]}}");
            assert_eq!(router.post(CHAT, body).send().await.status, 200);
        }
        let page = router.settled(6).await;
        let of = |model| page.count("plimsoll_requests_total", &[("model", model)]);
        assert_eq!(["a", "b", "other", "replay"].map(of), [2, 1, 2, 1], "{page}");
    })
    .await;
}
