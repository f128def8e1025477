//! How flags and commands may be written.

use plimsoll_wire::{Engine, Role};

use super::{
    super::{LogLevel, StreamUsage, Topology},
    *,
};

#[test]
fn launch_may_be_left_out_and_values_may_follow_an_equals_sign() {
    for line in ["launch --worker-urls http://w:1 --port 7", "--worker-urls=http://w:1 --port=7"] {
        assert_eq!(settings(line).listen.port, 7, "{line}");
    }
}

#[test]
fn the_last_of_two_values_counts_and_lists_add_up() {
    let settings =
        settings("--port 7 --worker-urls http://a http://b --worker-urls http://c --port 8");
    assert_eq!(settings.listen.port, 8);
    let urls = ["http://a", "http://b", "http://c"].map(str::to_owned);
    assert_eq!(settings.topology, Topology::Plain(urls.to_vec()));
}

#[test]
fn every_flag_that_has_an_effect_has_it() {
    let settings = settings(
        "--worker-urls http://w:1 --host :: --prometheus-host [::1] --port 0 --prometheus-port 0 \
         --max-payload-size 9 --request-timeout-secs 8 --shutdown-grace-period-secs 0 \
         --health-failure-threshold 7 --health-success-threshold 6 --health-check-timeout-secs 5 \
         --health-check-interval-secs 4 --health-check-endpoint /ping --disable-health-check \
         --stream-usage passthrough --model-label-max 3 --allow-client-routing --log-level trace \
         --log-dir /tmp/logs --request-id-headers --api-key k --worker-api-key w",
    );
    assert_eq!(settings.listen.to_string(), "[::]:0");
    assert_eq!(settings.metrics_listen.to_string(), "[::1]:0");
    assert_eq!(settings.max_payload_size, 9);
    assert_eq!(settings.request_timeout.as_secs(), 8);
    assert!(settings.shutdown_grace_period.is_zero());
    let health = &settings.health;
    assert_eq!((health.failure_threshold, health.success_threshold), (7, 6));
    assert_eq!((health.timeout.as_secs(), health.interval.as_secs()), (5, 4));
    assert!(health.endpoint == "/ping" && health.disabled);
    assert_eq!(settings.stream_usage, StreamUsage::Passthrough);
    assert_eq!(settings.model_label_max, 3);
    assert!(settings.allow_client_routing && settings.request_id_headers.is_empty());
    assert_eq!(settings.log_level, LogLevel::Trace);
    assert_eq!(settings.log_dir.as_deref(), Some(Path::new("/tmp/logs")));
    assert_eq!(settings.api_key.unwrap().expose(), "k");
    assert_eq!(settings.worker_api_key.unwrap().expose(), "w");
}

#[test]
fn flags_without_effect_yet_take_the_forms_of_the_contract() {
    settings(
        "--worker-urls http://w:1 --worker-metrics http://w:1=http://w:2/metrics \
         --worker-metrics http://w:1=http://w:3/metrics --usage-log - --engine vllm \
         --on-disconnect drain --kv-admission-threshold 0.9 --retry-backoff-multiplier 2 \
         --cors-allowed-origins http://a http://b --scrape-interval-ms 100 --tenant-header x-t",
    );
}

#[test]
fn the_small_commands() {
    let Ok(Command::Demo(demo)) = command("demo --requests 5 --port 0", &[]) else { panic!() };
    assert_eq!((demo.requests, demo.port, demo.prometheus_port), (Some(5), 0, 29001));
    let line = "sim --role prefill --port 7 --engine vllm --model m --bootstrap-port 8998 \
                --capacity-tokens 10 --tp 4 --token-interval-ms 0 --no-metrics --host ::1 \
                --dp 2 --time-to-first-token-ms 30 --cache-report";
    let Ok(Command::Sim(sim)) = command(line, &[]) else { panic!() };
    assert_eq!((sim.role, sim.engine), (Role::Prefill, Engine::Vllm));
    assert_eq!((sim.port, sim.bootstrap_port, sim.host.as_str()), (7, Some(8998), "::1"));
    assert_eq!((sim.capacity_tokens, sim.tp, sim.token_interval_ms), (10, 4, 0));
    assert_eq!((sim.dp, sim.time_to_first_token_ms), (2, 30));
    assert!(sim.no_metrics && sim.cache_report && sim.model == "m");
}

#[test]
fn help_and_version_are_printed() {
    for line in ["--help", "-h", "help", "launch --help", "demo --help", "sim -h", "--version"] {
        match command(line, &[]) {
            Ok(Command::Print(text)) => assert!(text.contains("plimsoll"), "{line}: {text}"),
            other => panic!("{line}: {other:?}"),
        }
    }
}

#[test]
fn settings_made_in_code_have_the_defaults_of_the_table() {
    let topology = Topology::Plain(vec!["http://w:1".to_owned()]);
    let (made, read) = (Settings::new(topology), settings("--worker-urls http://w:1"));
    assert_eq!(format!("{made:?}"), format!("{read:?}"));
}
