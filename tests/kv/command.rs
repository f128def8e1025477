//! `plimsoll kv` and `plimsoll check`.

use std::{
    fs,
    os::{fd::OwnedFd, unix::net::UnixStream},
};

use plimsoll_sim::{Role, SimConfig, replay::Reply};
use serde_json::Value;

use super::{OFTEN, ask, document, engine, hold, page_of, page_when, state, steady, text};
use crate::support::{bounded, said, said_into, sim, sim_pair};

/// Where nobody listens.
const NOWHERE: &str = "http://127.0.0.1:1";

/// The words of the line of a worker.
#[track_caller]
fn row<'a>(out: &'a str, worker: &str) -> Vec<&'a str> {
    let line = out.lines().find(|line| line.starts_with(worker));
    line.unwrap_or_else(|| panic!("no line: {out}")).split_whitespace().collect()
}

/// The names of an object's members.
fn names(object: &Value) -> Vec<&String> {
    object.as_object().expect("an object").keys().collect()
}

/// It is for a screen, and nobody's terminal.
#[track_caller]
fn assert_one_screen(out: &str) {
    assert!(out.lines().count() <= 24 && !out.contains('\u{1b}'), "{out}");
    assert!(out.starts_with("WORKER"), "{out}");
}

#[tokio::test]
async fn kv_of_a_router() {
    bounded(async {
        let (router, prefill, decode) = sim_pair(steady().capacity_tokens(2_581_504), OFTEN).await;
        let (prefill, decode_url) = (prefill.url(), decode.url());
        ask(&router, "sim-llama").await;
        let _held = hold(&router, "sim-llama").await;
        page_when(&router, |page| {
            let ok = [&prefill, &decode_url].iter().all(|url| state(page, url) == "ok");
            let used = super::only(page, "plimsoll_kv_used_tokens", &[("role", "decode")]);
            ok && decode.used_tokens() > 0 && used == Some(decode.used_tokens() as f64)
        })
        .await;
        let used = decode.used_tokens();
        let target = router.metrics_addr;
        let shown = said(&format!("kv {target}")).await;
        assert_eq!((shown.code, &*shown.err), (Some(0), ""), "{}", shown.out);
        assert_one_screen(&shown.out);
        let row = row(&shown.out, &decode_url);
        let wanted = [decode_url.as_str(), "decode", "sim-llama", &used.to_string(), "2,581,504"];
        assert_eq!((&row[..5], row.last()), (&wanted[..], Some(&"ok")), "{}", shown.out);

        let shown = said(&format!("kv --json http://{target}")).await;
        let read: Value = serde_json::from_str(&shown.out).expect("JSON");
        assert_eq!(shown.code, Some(0));
        let own = document(&router).await;
        assert_eq!(names(&read), names(&own));
        assert_eq!(names(&read["workers"][1]), names(&own["workers"][1]));
        assert_eq!(read["workers"][1]["worker"], decode_url);
        assert_eq!(read["workers"][1]["used_tokens"], used);
        assert_eq!(read["roles"], own["roles"]);
    })
    .await;
}

#[tokio::test]
async fn kv_of_engines() {
    bounded(async {
        let config = SimConfig::default().tp(4).capacity_tokens(2_581_504);
        let prefill = sim(config.clone().role(Role::Prefill)).await;
        let decode = sim(config.role(Role::Decode)).await;
        let shown = said(&format!("kv {} {}", prefill.url(), decode.url())).await;
        assert_eq!((shown.code, &*shown.err), (Some(0), ""), "{}", shown.out);
        assert_one_screen(&shown.out);
        for (engine, role) in [(&prefill, "prefill"), (&decode, "decode")] {
            let url = engine.url();
            let row = row(&shown.out, &url);
            assert_eq!(row[1..6], [role, "sim-llama", "-", "2,581,504", "-"], "{}", shown.out);
            assert_eq!(row.last(), Some(&"capacity_only"), "{}", shown.out);
        }
        assert_eq!(shown.out.matches("send one request").count(), 2, "{}", shown.out);

        let shown = said(&format!("kv --json {} {NOWHERE}", decode.url())).await;
        let read: Value = serde_json::from_str(&shown.out).expect("JSON");
        assert_eq!(shown.code, Some(1), "one of them has none");
        assert_eq!(read["workers"][0]["capacity_tokens"], 2_581_504);
        assert_eq!(read["workers"][1]["state"], "unreachable");
    })
    .await;
}

#[tokio::test]
async fn kv_of_nobody() {
    bounded(async {
        let shown = said(&format!("kv {NOWHERE}")).await;
        assert_eq!(shown.code, Some(1), "{}", shown.err);
        assert_eq!(row(&shown.out, NOWHERE).last(), Some(&"unreachable"), "{}", shown.out);
        assert!(shown.out.contains("is it running"), "{}", shown.out);
        for line in ["kv --nope", "kv ftp://x", "kv --watch 0", "kv --watch", "kv http://"] {
            let shown = said(line).await;
            assert_eq!(shown.code, Some(2), "{line}: {}{}", shown.out, shown.err);
            assert_eq!(shown.err.lines().count(), 1, "{line}: {}", shown.err);
            assert!(shown.out.is_empty(), "{line}: {}", shown.out);
        }
    })
    .await;
}

#[tokio::test]
async fn kv_with_a_key() {
    bounded(async {
        let keyed = engine(|request| {
            let sent = request.header("authorization") == Some("Bearer k3y");
            let page = || text(&page_of(0, 40_960, 10_240));
            let answer = || if sent { page() } else { Reply::json(401, "{}") };
            (request.path == "/metrics").then(answer)
        })
        .await;
        let url = keyed.url();
        let shown = said(&format!("kv {url}")).await;
        assert_eq!(shown.code, Some(1), "{}", shown.out);
        assert!(shown.out.contains("unauthorized") && shown.out.contains("--worker-api-key"));
        let shown = said(&format!("kv {url} --worker-api-key k3y")).await;
        assert_eq!(shown.code, Some(0), "{}", shown.out);
        let row = row(&shown.out, &url);
        assert_eq!(row[3..7], ["10,240", "40,960", "25.0", "%"], "{}", shown.out);
        assert!(!shown.out.contains("k3y") && shown.err.is_empty(), "{}{}", shown.out, shown.err);
    })
    .await;
}

#[tokio::test]
async fn check_asks_each_worker() {
    bounded(async {
        let engine = sim(SimConfig::default()).await;
        let without = sim(SimConfig::default().metrics(false)).await;
        let (on, off) = (engine.url(), without.url());
        let shown = said(&format!("check --worker-urls {on} {off}")).await;
        assert_eq!((shown.code, &*shown.err), (Some(0), ""), "{}", shown.out);
        assert!(shown.out.starts_with("the configuration is valid\n"), "{}", shown.out);
        let wanted = ["plain", "up", "on", "sglang", "0.5.23", "capacity_only"];
        assert_eq!(row(&shown.out, &on)[1..], wanted, "{}", shown.out);
        let wanted = ["plain", "up", "off", "sglang", "0.5.23", "disabled"];
        assert_eq!(row(&shown.out, &off)[1..], wanted, "{}", shown.out);
        assert!(shown.out.contains("--enable-metrics"), "{}", shown.out);

        let shown = said(&format!("check --worker-urls {on} {NOWHERE}")).await;
        assert_eq!(shown.code, Some(1), "{}", shown.out);
        let wanted = ["plain", "down", "-", "-", "-", "unreachable"];
        assert_eq!(row(&shown.out, NOWHERE)[1..], wanted, "{}", shown.out);
        assert_eq!(row(&shown.out, &on)[2..4], ["up", "on"], "{}", shown.out);

        engine.faults().set_unhealthy(true);
        let shown = said(&format!("check --worker-urls {on}")).await;
        assert_eq!((shown.code, row(&shown.out, &on)[2]), (Some(1), "503"), "{}", shown.out);

        let shown = said("check --worker-urls ftp://x").await;
        assert_eq!(shown.code, Some(2), "{}", shown.out);
        assert!(shown.err.lines().count() == 1 && shown.out.is_empty(), "{}", shown.err);
    })
    .await;
}

#[tokio::test]
async fn what_nobody_reads_is_in_the_exit_code() {
    bounded(async {
        let unread = || UnixStream::pair().map(|(end, _)| OwnedFd::from(end)).unwrap();
        let down = format!("check --worker-urls {NOWHERE}");
        assert_eq!(said_into(&down, unread()).await, (Some(1), String::new()));
        assert_eq!(said_into(&format!("kv {NOWHERE}"), unread()).await, (Some(1), String::new()));
        assert_eq!(said_into("--help", unread()).await, (Some(0), String::new()));
        let full = fs::File::options().write(true).open("/dev/full").unwrap();
        let (code, told) = said_into("--help", full).await;
        assert!(code == Some(2) && told.starts_with("plimsoll: No space left"), "{code:?} {told}");
    })
    .await;
}
