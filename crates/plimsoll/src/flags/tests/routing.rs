//! Where requests go, how many, and what happens when they fail.

use std::time::Duration;

use plimsoll_router::PolicyKind;
use plimsoll_wire::Engine;

use super::*;

#[test]
fn a_policy_of_a_role_goes_before_that_of_all() {
    use PolicyKind::{CacheAware, LeastKv, PowerOfTwo, Random, RoundRobin};
    for (flags, kinds) in [
        ("", [CacheAware, LeastKv, CacheAware]),
        ("--policy random", [Random, Random, Random]),
        ("--policy random --decode-policy power_of_two", [Random, PowerOfTwo, Random]),
        ("--prefill-policy round_robin", [RoundRobin, LeastKv, CacheAware]),
    ] {
        let policies = settings(&format!("{WORKER} {flags}")).policies;
        assert_eq!([policies.prefill, policies.decode, policies.plain], kinds, "{flags}");
    }
    let line =
        format!("{WORKER} --cache-threshold 0.5 --balance-abs-threshold 3 --max-tree-size 9");
    let affinity = settings(&line).policies.affinity;
    assert_eq!((affinity.balance_abs_threshold, affinity.max_tree_size), (3, 9));
}

#[test]
fn what_is_let_in() {
    for (flags, most) in [("-1", None), ("0", None), ("8", Some(8))] {
        let line = format!("{WORKER} --max-concurrent-requests {flags}");
        assert_eq!(settings(&line).admission.max_requests, most, "{flags}");
    }
    let line = format!(
        "{WORKER} --rate-limit-tokens-per-second 7 --queue-size 0 --queue-timeout-secs 2 \
         --kv-admission-threshold 0.9 --worker-max-in-flight 4 --decode-max-in-flight 2"
    );
    let settings = settings(&line);
    let admission = settings.admission;
    assert_eq!((admission.rate, admission.queue_size), (Some(7), 0));
    assert_eq!(admission.queue_timeout, Duration::from_secs(2));
    assert_eq!(admission.kv_threshold, Some(0.9));
    let most = settings.max_in_flight;
    assert_eq!((most.prefill, most.decode, most.plain), (Some(4), Some(2), Some(4)));
}

#[test]
fn what_happens_to_what_fails() {
    let line = format!(
        "{WORKER} --retry-max-retries 2 --retry-initial-backoff-ms 5 --cb-failure-threshold 9 \
         --cb-timeout-duration-secs 3 --disable-circuit-breaker"
    );
    let given = settings(&line);
    assert_eq!((given.retry.max_retries, given.retry.initial_backoff.as_millis()), (2, 5));
    assert_eq!((given.breaker.failure_threshold, given.breaker.disabled), (9, true));
    assert_eq!(given.breaker.timeout, Duration::from_secs(3));
    assert_eq!(settings(&format!("{WORKER} --disable-retries")).retry.max_retries, 0);
}

#[test]
fn how_engines_and_clients_are_spoken_to() {
    let line = format!("{WORKER} --engine vllm --sse-keepalive-secs 5");
    let given = settings(&line);
    assert_eq!(
        (given.engine, given.sse_keepalive),
        (Some(Engine::Vllm), Some(Duration::from_secs(5)))
    );
    let line = format!("{WORKER} --cors-allowed-origins http://localhost:3000 https://a.example");
    assert_eq!(settings(&line).cors_allowed_origins.len(), 2);
    for wrong in ["localhost", "http://", "http://a/b", "http://*.a"] {
        let error = error(&format!("{WORKER} --cors-allowed-origins {wrong}"));
        assert!(error.contains("--cors-allowed-origins") && error.contains(wrong), "{error}");
    }
}
