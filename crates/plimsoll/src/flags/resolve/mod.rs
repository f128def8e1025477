//! From what the user wrote to what the program runs on.

mod checks;
mod metering;
#[cfg(feature = "kubernetes")]
mod pods;
mod routing;
mod scraping;
#[cfg(feature = "tls")]
mod tls;
mod topology;
mod warnings;

use std::time::Duration;

use plimsoll_router::HealthConfig;

use self::{
    checks::{choices, headers, key, listeners, path, rising},
    metering::{drain, tenant_header, usage_log},
    routing::{admission, breaker, engine, max_in_flight, origins, policies, retry},
    scraping::readings,
    topology::{topology, worker_names},
    warnings::warnings,
};
#[cfg(feature = "kubernetes")]
use super::Pods;
use super::{Flags, Kv, Launch, Settings, UsageError, place::Given, table::Health};
#[cfg(feature = "tls")]
use super::{command::Trust, table::Tls};
use crate::upstream::Upstream;

/// Checks how the flags go together and applies what depends on several of them.
pub(crate) fn resolve(launch: &Launch) -> Result<Settings, UsageError> {
    let Launch { flags, given } = launch;
    choices(flags, given)?;
    let (listen, metrics_listen) = listeners(&flags.listeners, given)?;
    #[cfg(feature = "kubernetes")]
    let pods = pods::pods(flags, given)?;
    #[cfg(feature = "kubernetes")]
    let found = pods.as_ref().map(Pods::roles).unwrap_or_default();
    #[cfg(not(feature = "kubernetes"))]
    let found = Vec::new();
    let topology = topology(&flags.workers, &found, given)?;
    let buckets = rising(&flags.metering.prometheus_duration_buckets, given)?;
    Ok(Settings {
        listen,
        metrics_listen,
        readings: readings(&flags.scraping, &topology, given)?,
        topology,
        worker_names: worker_names(&flags.workers, given)?,
        #[cfg(feature = "kubernetes")]
        pods,
        max_payload_size: flags.requests.max_payload_size,
        request_timeout: Duration::from_secs(flags.requests.request_timeout_secs),
        shutdown_grace_period: Duration::from_secs(flags.requests.shutdown_grace_period_secs),
        health: health(&flags.health, given)?,
        policies: policies(&flags.policies),
        admission: admission(&flags.load),
        max_in_flight: max_in_flight(&flags.load),
        retry: retry(&flags.failures),
        breaker: breaker(&flags.failures),
        engine: engine(flags.workers.engine),
        sse_keepalive: Some(Duration::from_secs(flags.requests.sse_keepalive_secs))
            .filter(|silence| !silence.is_zero()),
        cors_allowed_origins: origins(&flags.requests.cors_allowed_origins, given)?,
        request_id_headers: headers(&flags.requests.request_id_headers, given)?,
        api_key: key("api-key", flags.workers.api_key.as_ref(), given)?,
        worker_api_key: key("worker-api-key", flags.workers.worker_api_key.as_ref(), given)?,
        #[cfg(feature = "tls")]
        identity: tls::serving(&flags.tls, given)?,
        upstream: upstream(flags, given)?,
        stream_usage: flags.metering.stream_usage,
        usage_log: usage_log(&flags.metering, given)?,
        tenant_header: tenant_header(&flags.metering, given)?,
        tenant_max: flags.metering.tenant_max,
        model_label_max: flags.metering.model_label_max,
        genai_metrics: flags.metering.genai_metrics,
        smg_metrics: !flags.metering.no_smg_metrics,
        drain: drain(&flags.leaving),
        allow_client_routing: flags.workers.allow_client_routing,
        duration_buckets: buckets,
        log_level: flags.logs.log_level,
        log_dir: flags.logs.log_dir.clone(),
        warnings: warnings(flags, given),
    })
}

fn health(flags: &Health, given: &Given) -> Result<HealthConfig, UsageError> {
    Ok(HealthConfig {
        endpoint: path("health-check-endpoint", &flags.health_check_endpoint, given)?,
        interval: Duration::from_secs(flags.health_check_interval_secs),
        first_interval: Duration::from_secs(flags.worker_startup_check_interval),
        startup_timeout: Duration::from_secs(flags.worker_startup_timeout_secs),
        timeout: Duration::from_secs(flags.health_check_timeout_secs),
        failure_threshold: flags.health_failure_threshold,
        success_threshold: flags.health_success_threshold,
        disabled: flags.disable_health_check,
    })
}

#[cfg(feature = "tls")]
fn upstream(flags: &Flags, given: &Given) -> Result<Upstream, UsageError> {
    let Tls { ca_cert_paths, client_cert_path, client_key_path, .. } = &flags.tls;
    tls::upstream(ca_cert_paths, client_cert_path.as_deref(), client_key_path.as_deref(), given)
}

/// Without the feature there is nothing to be told.
#[cfg(not(feature = "tls"))]
fn upstream(_: &Flags, _: &Given) -> Result<Upstream, UsageError> {
    Ok(Upstream::default())
}

/// How the targets of `plimsoll kv` are reached.
#[cfg(feature = "tls")]
pub(crate) fn kv_upstream(kv: &Kv) -> Result<Upstream, UsageError> {
    let Trust { ca_cert_paths, client_cert_path, client_key_path } = &kv.trust;
    let (certificate, key) = (client_cert_path.as_deref(), client_key_path.as_deref());
    tls::upstream(ca_cert_paths, certificate, key, &Given::default())
}

/// Without the feature there is nothing to be told.
#[cfg(not(feature = "tls"))]
pub(crate) fn kv_upstream(_: &Kv) -> Result<Upstream, UsageError> {
    Ok(Upstream::default())
}
