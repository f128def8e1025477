//! From the settings to the parts of the process.

use std::sync::Arc;

use plimsoll::{Exporter, UsageLog};
use plimsoll_router::{Cluster, RouterConfig};
use plimsoll_wire::{Backend, Role};

use super::{readings::Readings, smg::SmgMetrics, worker_metrics::WorkerMetrics};
use crate::flags::{Secret, Settings, Topology};

/// The families that `--prometheus-duration-buckets` is about.
const DURATIONS: [&str; 5] = [
    "request_duration_seconds",
    "prefill_duration_seconds",
    "smg_http_request_duration_seconds",
    "smg_router_request_duration_seconds",
    "smg_router_generation_duration_seconds",
];

/// What counts, and the page of it.
pub(super) fn exporter(
    settings: &Settings,
    cluster: &Arc<Cluster>,
    readings: &Arc<Readings>,
    usage_log: Option<&UsageLog>,
) -> Exporter {
    let mut exporter = Exporter::builder()
        .max_models(settings.model_label_max)
        .genai(settings.genai_metrics)
        .source(Arc::new(WorkerMetrics::new(cluster.clone())))
        .source(readings.clone());
    if settings.smg_metrics {
        let kinds = settings.policies;
        let policies = cluster.needed_roles().iter().map(|&role| (role, kinds.of(role).as_str()));
        exporter = exporter
            .smg(true)
            .policies(policies.collect())
            .source(Arc::new(SmgMetrics::new(cluster.clone(), readings.clone())));
    }
    if settings.tenant_header.is_some() {
        exporter = exporter.tenants(settings.tenant_max);
    }
    if let Some(bounds) = &settings.duration_buckets {
        for family in DURATIONS {
            exporter = exporter.buckets(family, bounds.clone());
        }
    }
    if let Some(log) = usage_log {
        exporter = exporter.source(Arc::new(log.sink()));
    }
    exporter.build()
}

/// What the cluster runs on.
pub(super) fn router_config(settings: &Settings, metrics_port: u16) -> RouterConfig {
    let mut config = RouterConfig::new(workers(&settings.topology));
    config.paired = matches!(settings.topology, Topology::Pd { .. });
    config.max_body = settings.max_payload_size as u64;
    config.idle_timeout = settings.request_timeout;
    config.drain_grace_period = settings.shutdown_grace_period;
    config.health = settings.health.clone();
    config.policies = settings.policies;
    config.admission = settings.admission;
    config.max_in_flight = settings.max_in_flight;
    config.retry = settings.retry;
    config.breaker = settings.breaker;
    config.engine = settings.engine;
    config.sse_keepalive = settings.sse_keepalive;
    config.request_id_headers.clone_from(&settings.request_id_headers);
    config.authorization = settings.api_key.as_ref().and_then(Secret::bearer);
    config.worker_authorization = settings.worker_api_key.as_ref().and_then(Secret::bearer);
    config.allow_client_routing = settings.allow_client_routing;
    config.metrics_address = format!("port {metrics_port}, path /metrics");
    settings.upstream.route(config)
}

/// The workers, each in its role.
pub(crate) fn workers(topology: &Topology) -> Vec<Backend> {
    let worker = |url: &String, role, bootstrap_port| Backend {
        url: url.as_str().into(),
        role,
        bootstrap_port,
    };
    match topology {
        Topology::Plain(urls) => urls.iter().map(|url| worker(url, Role::Plain, None)).collect(),
        Topology::Pd { prefill, decode } => {
            let prefill = prefill.iter().map(|(url, port)| worker(url, Role::Prefill, *port));
            prefill.chain(decode.iter().map(|url| worker(url, Role::Decode, None))).collect()
        }
    }
}
