//! The command line of the contract, whole.

use clap::CommandFactory;
use plimsoll_router::{PolicyConfig, PolicyKind};

use super::{
    super::{Topology, table},
    *,
};

/// Section 1 of the contract, flag by flag.
const CONTRACT: &str = "
    host port prometheus-host prometheus-port pd-disaggregation prefill decode worker-urls policy
    prefill-policy decode-policy cache-threshold balance-abs-threshold balance-rel-threshold
    max-tree-size eviction-interval-secs max-payload-size request-timeout-secs
    shutdown-grace-period-secs worker-startup-timeout-secs worker-startup-check-interval
    max-concurrent-requests queue-size queue-timeout-secs rate-limit-tokens-per-second
    retry-max-retries retry-initial-backoff-ms retry-max-backoff-ms retry-backoff-multiplier
    retry-jitter-factor disable-retries cb-failure-threshold cb-success-threshold
    cb-timeout-duration-secs cb-window-duration-secs disable-circuit-breaker
    health-failure-threshold health-success-threshold health-check-timeout-secs
    health-check-interval-secs health-check-endpoint disable-health-check sse-keepalive-secs
    prometheus-duration-buckets request-id-headers cors-allowed-origins api-key log-level log-dir
    service-discovery selector prefill-selector decode-selector service-discovery-port
    service-discovery-namespace model-path tokenizer-path chat-template reasoning-parser
    tool-call-parser tokenizer-cache-enable-l0 tokenizer-cache-l0-max-entries
    tokenizer-cache-enable-l1 tokenizer-cache-l1-max-memory mcp-config-path history-backend backend
    enable-igw assignment-mode max-idle-secs bucket-adjust-interval-secs oracle-wallet-path
    oracle-tns-alias oracle-connect-descriptor oracle-username oracle-password oracle-pool-min
    oracle-pool-max oracle-pool-timeout-secs postgres-db-url postgres-pool-max redis-url
    redis-pool-max redis-retention-days jwt-issuer jwt-audience jwt-jwks-uri jwt-role-mapping
    control-plane-api-keys control-plane-audit-enabled dp-aware enable-trace otlp-traces-endpoint
    mini-lb tls-cert-path tls-key-path ca-cert-paths client-cert-path client-key-path config engine
    scrape-interval-ms scrape-timeout-ms stale-after-ms worker-metrics worker-api-key stream-usage
    on-disconnect drain-max-secs drain-max-requests usage-log tenant-header tenant-max
    model-label-max no-smg-metrics genai-metrics kv-admission-threshold allow-client-routing";

/// Those that the contract leaves open.
const MORE: &str =
    "worker-max-in-flight prefill-max-in-flight decode-max-in-flight prefill-dns decode-dns";

#[test]
fn every_flag_is_known_and_no_other() {
    let command = table::Flags::command();
    let contract: Vec<_> = CONTRACT.split_whitespace().chain(MORE.split_whitespace()).collect();
    for flag in &contract {
        let (known, refused) = (table::find(&command, flag).is_some(), table::refused(flag));
        assert!(known != refused.is_some(), "--{flag}: known {known}, refused {refused:?}");
    }
    for flag in table::names::<table::Flags>() {
        assert!(flag == "help" || contract.contains(&flag.as_str()), "--{flag}");
    }
}

#[test]
fn the_table_is_sound_and_each_flag_has_a_line_of_help() {
    table::Flags::command().debug_assert();
    super::super::Demo::command().debug_assert();
    super::super::Sim::command().debug_assert();
    for argument in table::Flags::command().get_arguments() {
        let help = argument.get_help().map(ToString::to_string).unwrap_or_default();
        assert!(!help.is_empty() && !help.contains('\n'), "{argument}: {help:?}");
    }
}

#[test]
fn defaults() {
    let settings = settings(WORKER);
    assert_eq!(settings.listen.to_string(), "0.0.0.0:30001");
    assert_eq!(settings.metrics_listen.to_string(), "0.0.0.0:29001");
    assert_eq!(settings.max_payload_size, 512 * 1024 * 1024);
    assert_eq!(settings.request_timeout.as_secs(), 1800);
    assert_eq!(settings.shutdown_grace_period.as_secs(), 180);
    assert_eq!(settings.health.endpoint, "/health");
    assert_eq!(settings.health.interval.as_secs(), 5);
    assert_eq!(settings.health.timeout.as_secs(), 5);
    assert_eq!((settings.health.failure_threshold, settings.health.success_threshold), (3, 1));
    assert_eq!(settings.health.first_interval.as_secs(), 1);
    assert_eq!(settings.policies, PolicyConfig::default());
    assert_eq!(settings.policies.decode, PolicyKind::LeastKv);
    assert_eq!((settings.admission, settings.max_in_flight), <_>::default());
    assert_eq!((settings.retry, settings.breaker), <_>::default());
    assert_eq!((settings.engine, settings.sse_keepalive), (None, None));
    assert_eq!(settings.model_label_max, 100);
    assert_eq!(settings.request_id_headers[0], "x-request-id");
    assert_eq!((settings.tenant_max, settings.tenant_header), (100, None));
    assert_eq!((settings.drain, settings.usage_log, settings.genai_metrics), (None, None, false));
    assert!(settings.smg_metrics);
    assert!(settings.duration_buckets.is_none() && settings.warnings.is_empty());
}

/// From the SGLang documentation's PD example, with `python -m sglang_router.launch_router` and
/// `docker run … lmsysorg/sgl-model-gateway` swapped for our name.
#[test]
fn a_line_written_for_the_sglang_router() {
    let settings = settings(
        "launch --pd-disaggregation --prefill http://prefill1:8000 9000 \
         --prefill http://prefill2:8000 none --prefill http://prefill3:8000 \
         --decode http://decode1:8001 --decode http://decode2:8001 \
         --prefill-policy cache_aware --decode-policy power_of_two --host 0.0.0.0 --port 30000 \
         --prometheus-port 29000 --prometheus-host 0.0.0.0 --max-concurrent-requests -1 \
         --request-timeout-secs 1800 --log-level warn --worker-startup-timeout-secs 3600 \
         --prometheus-duration-buckets 0.1 1 10 --request-id-headers x-request-id x-trace-id \
         --history-backend memory --backend sglang --model-path /models/llama --mini-lb",
    );
    let ports = match settings.topology {
        Topology::Pd { prefill, .. } => prefill.into_iter().map(|(_, port)| port).collect(),
        Topology::Plain(_) => Vec::new(),
    };
    assert_eq!(ports, [Some(9000), None, None]);
    assert_eq!(settings.listen.port, 30000);
    assert_eq!(settings.duration_buckets, Some(vec![0.1, 1.0, 10.0]));
    assert_eq!(settings.request_id_headers, ["x-request-id", "x-trace-id"]);
    assert_eq!(settings.warnings.len(), 1, "{:?}", settings.warnings);
}
