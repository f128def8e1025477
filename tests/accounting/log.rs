//! One line for each finished request, whatever becomes of the process.

use std::{fs, time::Duration};

use plimsoll_sim::{Role, SimConfig};
use serde_json::json;

use super::CHAT;
use crate::support::{Log, Plimsoll, bounded, chat, eventually, said, sim, sim_pair};

#[tokio::test]
async fn a_line_tells_the_whole_request() {
    bounded(async {
        let log = Log::new();
        let config = SimConfig { cache_report: true, ..SimConfig::default() };
        let flags = format!("{} --tenant-header x-team", log.flag());
        let (router, prefill, decode) = sim_pair(config, &flags).await;
        let body = chat(",\"stream\":true,\"max_tokens\":5");
        let call = router.post(CHAT, body).header("x-team", "a").header("x-request-id", "r-1");
        assert_eq!(call.send().await.header("x-request-id"), Some("r-1"));
        let line = log.wait(1).await.remove(0);
        let timing = &line["timing"];
        let times = ["first_byte_ms", "first_token_ms", "total_ms"];
        let times = times.map(|name| timing[name].as_f64().expect("a time"));
        assert!(times.is_sorted() && times[2] < 20_000.0, "{times:?}");
        let prompt = line["usage"]["prompt"].as_u64().expect("a count");
        assert_eq!(prompt, decode.totals().prompt_tokens);
        for (name, want) in [
            ("id", json!("r-1")),
            ("endpoint", json!("chat")),
            ("model", json!("tiny-llama")),
            ("tenant", json!("a")),
            ("stream", json!(true)),
            ("status", json!(200)),
            ("outcome", json!("complete")),
            ("completeness", json!("exact")),
            ("usage", json!({"prompt": prompt, "cached": 0, "completion": 5, "reasoning": 0})),
            ("lower_bound", json!({"completion": null})),
            ("chunks", json!(5)),
            ("attempts", json!(1)),
            ("prefill", json!(prefill.url())),
            ("decode", json!(decode.url())),
            ("finish_reasons", json!(["length"])),
        ] {
            assert_eq!(line[name], want, "{name} in {line}");
        }
        assert!(line["ts"].as_str().is_some_and(|ts| ts.starts_with("20") && ts.ends_with('Z')));
    })
    .await;
}

#[tokio::test]
async fn what_never_reached_a_worker_has_a_line_too() {
    bounded(async {
        let log = Log::new();
        let line = format!("--worker-urls http://127.0.0.1:9 {}", log.flag());
        let router = Plimsoll::launch(&line).await;
        let refused = router.post(CHAT, chat("")).send().await;
        let bad = router.post(CHAT, "{").send().await;
        let lines = log.wait(2).await;
        for (answer, line, outcome) in [(refused, 0, "rejected"), (bad, 1, "client_error")] {
            let line = &lines[line];
            assert_eq!(
                (line["status"].as_u64(), &line["outcome"]),
                (Some(answer.status.into()), &json!(outcome))
            );
            assert_eq!(line["id"].as_str(), answer.header("x-request-id"), "{line}");
            assert_eq!(line["usage"]["prompt"], json!(null));
        }
    })
    .await;
}

/// A router over a plain engine that takes 25 ms a token.
async fn slow(log: &Log, more: &str) -> (Plimsoll, plimsoll_sim::SimEngine) {
    let config = SimConfig { token_interval: Duration::from_millis(25), ..SimConfig::default() };
    let engine = sim(config.role(Role::Plain)).await;
    let line = format!("--worker-urls {} {} {more}", engine.url(), log.flag());
    (Plimsoll::start(&line).await, engine)
}

#[tokio::test]
async fn requests_that_run_at_the_end_are_written() {
    for (signals, outcome) in [(1, "complete"), (2, "upstream_error")] {
        bounded(async {
            let log = Log::new();
            let (mut router, _engine) = slow(&log, "").await;
            let body = chat(",\"stream\":true,\"max_tokens\":40");
            let mut client = router.post(CHAT, body).open().await;
            client.until("\"content\":\"").await;
            for _ in 0..signals {
                router.signal("TERM").await;
                router.logged("stopping").await;
            }
            assert_eq!(router.ended().await.code(), Some(0));
            let lines = log.lines();
            assert_eq!(lines.len(), 1, "{lines:?}");
            assert_eq!(lines[0]["outcome"], outcome);
            let bound = lines[0]["lower_bound"]["completion"].as_u64();
            assert!(outcome == "complete" || bound > Some(0), "{}", lines[0]);
        })
        .await;
    }
}

#[tokio::test]
async fn a_rotated_log_goes_on_in_a_new_file() {
    bounded(async {
        let (log, old) = (Log::new(), Log::new());
        let (router, _engine) = slow(&log, "").await;
        let body = || chat(",\"max_tokens\":1");
        router.post(CHAT, body()).send().await;
        log.wait(1).await;
        fs::rename(log.path(), old.path()).expect("the log is there");
        router.signal("HUP").await;
        eventually(
            async || if log.path().exists() { Ok(()) } else { Err("no new file".to_owned()) },
        )
        .await;
        router.post(CHAT, body()).send().await;
        log.wait(1).await;
        assert_eq!(old.lines().len(), 1);
        assert_eq!(router.page().await.count("plimsoll_usage_log_dropped_total", &[]), 0);
    })
    .await;
}

#[tokio::test]
async fn a_hang_up_without_a_log_is_survived() {
    bounded(async {
        let mut router = Plimsoll::launch("--worker-urls http://127.0.0.1:9").await;
        router.signal("HUP").await;
        assert_eq!(router.get("/liveness").send().await.status, 200);
        assert!(router.runs());
    })
    .await;
}

#[tokio::test]
async fn a_log_that_cannot_be_written_is_said_at_the_start() {
    bounded(async {
        let ports = "--host 127.0.0.1 --port 0 --prometheus-host 127.0.0.1 --prometheus-port 0";
        let line = format!("--worker-urls http://127.0.0.1:9 --usage-log /nowhere/usage {ports}");
        let said = said(&line).await;
        assert_eq!(said.code, Some(2), "{}", said.err);
        let wanted = "--usage-log: cannot write /nowhere/usage";
        assert!(said.err.contains(wanted), "{}", said.err);
    })
    .await;
}
