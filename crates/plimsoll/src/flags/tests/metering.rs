//! What is counted, where it is written, and what becomes of those who leave.

use std::time::Duration;

use super::{
    super::settings::{Drain, UsageLogPlace},
    *,
};

#[test]
fn the_usage_log_has_a_place() {
    for (flag, want) in [
        ("--usage-log -", UsageLogPlace::Stdout),
        ("--usage-log /var/log/usage.jsonl", UsageLogPlace::File("/var/log/usage.jsonl".into())),
    ] {
        assert_eq!(settings(&format!("{WORKER} {flag}")).usage_log, Some(want), "{flag}");
    }
    let error = error_in(&format!("{WORKER} --usage-log="), &[]);
    assert!(error.starts_with("--usage-log: names no file"), "{error}");
}

#[test]
fn tenants_are_named_by_a_header_that_carries_no_key() {
    let settings = settings(&format!("{WORKER} --tenant-header X-Team --tenant-max 7"));
    assert_eq!((settings.tenant_header.unwrap().as_str(), settings.tenant_max), ("x-team", 7));
    for (name, want) in [
        ("Authorization", "carries credentials"),
        ("x-api-key", "carries credentials"),
        ("x-amz-security-token", "carries credentials"),
        ("no:name", "is no header name"),
    ] {
        let error = error_in(&format!("{WORKER} --tenant-header {name}"), &[]);
        assert!(error.starts_with("--tenant-header: ") && error.contains(want), "{error}");
    }
}

#[test]
fn the_names_of_the_sglang_router_can_be_left_out() {
    let file = Config::new("no-smg-metrics = true");
    let left_out = settings(&file.after(WORKER));
    assert!(!left_out.smg_metrics && left_out.warnings.is_empty());
    let again = settings_in(&file.after(WORKER), &["PLIMSOLL_NO_SMG_METRICS=false"]);
    assert!(again.unwrap().smg_metrics);
}

#[test]
fn draining_is_bounded() {
    let drain = |flags: &str| settings(&format!("{WORKER} {flags}")).drain;
    let of = |secs, max_requests| Drain { max_time: Duration::from_secs(secs), max_requests };
    assert_eq!(drain("--on-disconnect cancel --drain-max-secs 9"), None);
    assert_eq!(drain("--on-disconnect drain"), Some(of(300, 64)));
    let line = "--on-disconnect drain --drain-max-secs 9 --drain-max-requests 2";
    assert_eq!(drain(line), Some(of(9, 2)));
}
