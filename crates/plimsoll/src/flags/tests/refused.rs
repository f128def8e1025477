//! Flags that are known and turned away.

use super::*;

#[test]
fn flags_are_refused_whatever_follows_them() {
    for (flag, hint) in [
        ("mcp-config-path", "tools"),
        ("enable-igw", "plimsoll"),
        ("max-idle-secs", "another policy"),
        ("oracle-password", "conversations"),
        ("jwt-role-mapping", "--api-key"),
        ("control-plane-api-keys", "--api-key"),
        ("dp-aware", "ranks"),
        ("otlp-traces-endpoint", "traceparent"),
        #[cfg(not(feature = "kubernetes"))]
        ("service-discovery", "`kubernetes`"),
        #[cfg(not(feature = "kubernetes"))]
        ("prefill-selector", "`kubernetes`"),
        #[cfg(not(feature = "tls"))]
        ("ca-cert-paths", "`tls`"),
    ] {
        for line in [format!("--{flag}"), format!("--{flag}=x"), format!("--{flag} a=b c=d --x")] {
            let error = error(&format!("{WORKER} {line}"));
            assert!(error.starts_with(&format!("--{flag}: ")) && error.contains(hint), "{error}");
            assert!(!error.contains("a=b"), "{error}");
        }
    }
}

#[test]
fn values_are_refused() {
    for (line, hint) in [
        ("--policy manual", "another policy"),
        ("--prefill-policy bucket", "another policy"),
        ("--decode-policy manual", "another policy"),
        ("--backend openai", "sglang"),
        ("--history-backend oracle", "memory"),
        ("--history-backend redis", "memory"),
    ] {
        let error = error(&format!("{WORKER} {line}"));
        let flag = line.split(' ').next().unwrap();
        assert!(error.starts_with(&format!("{flag}: ")) && error.contains(hint), "{error}");
    }
    settings(&format!("{WORKER} --backend sglang --history-backend none --mini-lb"));
}

#[test]
fn files_and_environment_are_no_way_around() {
    let file = Config::new("port = 1\ndp-aware = true\n");
    assert!(error(&file.after(WORKER)).contains(".toml:2: dp-aware: not built yet"));
    for variable in ["PLIMSOLL_ENABLE_IGW", "PLIMSOLL_JWT_ISSUER"] {
        let error = error_in(WORKER, &[&format!("{variable}=1")]);
        assert!(error.starts_with(&format!("{variable}: not supported")), "{error}");
    }
}
