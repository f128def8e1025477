//! Workers and listeners that go together, or do not.

use plimsoll_wire::Role;

use super::{
    super::{Topology, WorkerName},
    *,
};

#[test]
fn workers_must_fit_the_mode() {
    let (p, d) = ("--prefill http://p:1", "--decode http://d:1");
    for (line, wanted) in [
        ("--port 1".to_owned(), "--worker-urls: no workers: give --worker-urls"),
        (format!("{p} {d}"), "--prefill: needs --pd-disaggregation"),
        (d.to_owned(), "--decode: needs --pd-disaggregation"),
        (format!("--pd-disaggregation {p}"), "--pd-disaggregation: needs at least one --decode"),
        (format!("--pd-disaggregation {d}"), "--pd-disaggregation: needs at least one --prefill"),
        (
            format!("--pd-disaggregation {p} {d} {WORKER}"),
            "--worker-urls: does not go with --pd-disaggregation",
        ),
        (
            format!("--pd-disaggregation {p} --decode http://p:1"),
            "--decode: http://p:1 is named twice",
        ),
        (
            "--worker-urls http://W:80 http://w/".to_owned(),
            "--worker-urls: http://w is named twice",
        ),
    ] {
        let error = error(&line);
        assert!(error.starts_with(wanted), "{line}: {error}");
    }
}

#[test]
fn urls_are_base_urls() {
    for (url, wanted) in [
        ("w:1", "is no worker URL; expected http://HOST[:PORT]"),
        ("http://", "is no worker URL"),
        ("http://:1", "is no worker URL"),
        ("http://w:", "is no worker URL"),
        ("http://w:0", "is no worker URL"),
        ("http://w:70000", "is no worker URL"),
        ("http://::1:80", "is no worker URL"),
        ("grpc://w:1", "is no worker URL"),
        #[cfg(not(feature = "tls"))]
        ("https://w:1", "needs the cargo feature `tls`"),
        ("http://w:1/v1", "more than scheme, host and port"),
        ("http://w:1?x=y", "more than scheme, host and port"),
        ("http://user:pw@w:1", "holds a user name"),
    ] {
        let error = error(&format!("--worker-urls {url}"));
        assert!(error.contains(wanted) && !error.contains("pw@"), "{url}: {error}");
    }
    let urls = "http://[::1]:8000 http://192.168.1.1:8000 http://a_b.c-d/";
    let Topology::Plain(urls) = settings(&format!("--worker-urls {urls}")).topology else {
        panic!()
    };
    assert_eq!(urls, ["http://[::1]:8000", "http://192.168.1.1:8000", "http://a_b.c-d"]);
}

#[cfg(feature = "tls")]
#[test]
fn workers_and_their_pages_may_be_behind_tls() {
    let page = "https://[::1]:8443/metrics";
    let urls = "https://w https://[::1]:8443";
    let settings = settings(&format!("--worker-urls {urls} --worker-metrics https://w:443={page}"));
    assert_eq!(settings.readings.pages, [("https://w".to_owned(), page.to_owned())]);
    let twice = error("--worker-urls https://w http://w:443");
    assert!(twice.contains("is named twice"), "{twice}");
}

#[test]
fn bootstrap_ports() {
    let line = |prefill: &str| format!("--pd-disaggregation --decode http://d --prefill {prefill}");
    for (prefill, port) in [
        ("http://p", None),
        ("http://p none", None),
        ("http://p None", None),
        ("http://p 1", Some(1)),
        ("http://p 65535", Some(65535)),
    ] {
        let Topology::Pd { prefill, .. } = settings(&line(prefill)).topology else { panic!() };
        assert_eq!(prefill, [("http://p".to_owned(), port)]);
    }
    for prefill in ["http://p 0", "http://p 65536", "http://p x", "8998"] {
        let error = error(&line(prefill));
        assert!(error.contains("expected http://HOST[:PORT] [1..65535|none]"), "{error}");
    }
}

#[test]
fn listeners_must_not_clash() {
    for line in [
        "--port 29001",
        "--host 127.0.0.1 --port 29001",
        "--host h --prometheus-host H --port 29001",
        "--host :: --port 29001",
    ] {
        let error = error(&format!("{WORKER} {line}"));
        assert!(error.starts_with("--prometheus-port: 29001 is taken by --port"), "{error}");
    }
    settings(&format!("{WORKER} --host 127.0.0.1 --prometheus-host 127.0.0.2 --port 29001"));
    settings(&format!("{WORKER} --port 0 --prometheus-port 0"));
    assert!(error(&format!("{WORKER} --host http://x")).contains("is no address"));
}

#[test]
fn workers_may_be_found_by_name() {
    let line = "--pd-disaggregation --prefill-dns prefill.ns:30000 8998 --decode-dns decode:30000";
    let settings = settings(line);
    assert_eq!(settings.topology, Topology::Pd { prefill: Vec::new(), decode: Vec::new() });
    let name = |host: &str, role, bootstrap_port| WorkerName {
        host: host.to_owned(),
        port: 30000,
        role,
        bootstrap_port,
    };
    let prefill = name("prefill.ns", Role::Prefill, Some(8998));
    assert_eq!(settings.worker_names, [prefill, name("decode", Role::Decode, None)]);
    let pd = "--pd-disaggregation --prefill http://p:1 --decode http://d:1";
    for (line, wanted) in [
        ("--prefill-dns p:1".to_owned(), "--prefill-dns: needs --pd-disaggregation"),
        (
            format!("{pd} --decode-dns d"),
            "--decode-dns: \"d\" is no name of workers; expected NAME:PORT",
        ),
        (format!("{pd} --decode-dns http://d:1"), "--decode-dns: \"http://d:1\" is no name"),
        (format!("{pd} --decode-dns d:0"), "--decode-dns: \"d:0\" is no name"),
        (format!("{pd} --prefill-dns p:1 x"), "--prefill-dns: \"x\" is no name"),
        (format!("{pd} --prefill-dns p:1 --decode-dns p:1"), "--decode-dns: p:1 is named twice"),
    ] {
        let error = error(&line);
        assert!(error.starts_with(wanted), "{line}: {error}");
    }
}
