//! `plimsoll kv` and `plimsoll check`.

use super::{
    super::{Kv, Topology},
    *,
};

fn kv(line: &str) -> Kv {
    match command(&format!("kv {line}"), &[]) {
        Ok(Command::Kv(kv)) => kv,
        other => panic!("{line}: {other:?}"),
    }
}

fn checked(line: &str) -> Vec<Settings> {
    match command(&format!("check {line}"), &[]) {
        Ok(Command::Check(launches)) => {
            launches.iter().map(|launch| resolve(launch).unwrap()).collect()
        }
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn kv_looks_at_the_router_unless_told_otherwise() {
    let flags = kv("");
    assert_eq!(flags.targets, ["http://127.0.0.1:29001"]);
    assert!(!flags.json && flags.watch.is_none() && flags.worker_api_key.is_none());
    let flags = kv("h:1 --json http://[::1]:2/ --watch 0.5 --worker-api-key k");
    assert_eq!(flags.targets, ["http://h:1", "http://[::1]:2"]);
    assert!(flags.json && flags.watch == Some(0.5) && flags.worker_api_key.is_some());
}

#[test]
fn kv_says_what_is_wrong() {
    for (line, wanted) in [
        ("kv h:1/v1", "has more than scheme, host and port; expected http://HOST[:PORT]"),
        #[cfg(not(feature = "tls"))]
        ("kv https://h:1", "needs the cargo feature `tls`"),
        ("kv h:x", "is no worker URL"),
        ("kv --watch 0", "expected a number from 0.1 to 86400"),
        ("kv --worker-api-key=", "--worker-api-key: the key must be 1 or more"),
    ] {
        let error = error(line);
        assert!(error.contains(wanted), "{line}: {error}");
    }
    let error = parse(["kv".into(), "--worker-api-key=se cret".into()], []).unwrap_err();
    assert!(error.to_string().starts_with("--worker-api-key: the key must be"), "{error}");
}

#[test]
fn check_takes_flags_or_files_or_both() {
    let [one] = checked(WORKER).try_into().unwrap();
    assert_eq!(one.topology, Topology::Plain(vec!["http://w:1".to_owned()]));
    let first = Config::new("worker-urls = [\"http://a:1\"]");
    let second = Config::new("worker-urls = [\"http://b:1\"]\nport = 4");
    let files = format!("{} {}", first.path().display(), second.path().display());
    let [a, b] = checked(&format!("{files} --prometheus-port 5")).try_into().unwrap();
    assert_eq!(a.topology, Topology::Plain(vec!["http://a:1".to_owned()]));
    assert_eq!(b.topology, Topology::Plain(vec!["http://b:1".to_owned()]));
    assert_eq!((b.listen.port, b.metrics_listen.port), (4, 5));
    let error = error(&format!("check {files} --config c.toml"));
    assert!(error.starts_with("--config: names a file where files stand already"), "{error}");
    assert!(matches!(command("check --help", &[]), Ok(Command::Print(_))));
    assert!(matches!(command("check", &[]), Err(UsageError::Nothing)));
}
