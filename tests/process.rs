//! The router as a process: how it ends, where it logs, what it says of a wrong command line.

use std::{fs, time::Duration};

use plimsoll_sim::{Role, SimConfig};
use tokio::time::Instant;

use crate::support::{Answer, Folder, Log, Plimsoll, bounded, chat, eventually, said, sim};

const CHAT: &str = "/v1/chat/completions";

/// A plain engine whose answers take about a second, behind a router.
async fn slow() -> (Plimsoll, plimsoll_sim::SimEngine) {
    let config = SimConfig { token_interval: Duration::from_millis(25), ..SimConfig::default() };
    let engine = sim(config.role(Role::Plain)).await;
    (Plimsoll::start(&format!("--worker-urls {}", engine.url())).await, engine)
}

#[tokio::test]
async fn sigterm_lets_a_stream_end() {
    bounded(async {
        let (mut router, engine) = slow().await;
        let body = chat(",\"stream\":true,\"max_tokens\":40");
        let mut client = router.post(CHAT, body).open().await;
        client.until("\"content\":\"").await;
        router.signal("TERM").await;
        router.logged("stopping").await;
        // No new client, and the page is still there.
        eventually(async || match tokio::net::TcpStream::connect(router.addr).await {
            Err(_) => Ok(()),
            Ok(_) => Err("it accepts".to_owned()),
        })
        .await;
        let page = router.page().await;
        assert_eq!(page.count("plimsoll_requests_in_flight", &[]), 1);
        assert_eq!(router.ask_metrics("/healthz").send().await.status, 200);
        let answer = client.rest().await;
        assert!(answer.complete && answer.text().ends_with("data: [DONE]\n\n"));
        assert_eq!(answer.text().matches("\"content\":\"").count(), 41);
        assert_eq!(router.ended().await.code(), Some(0));
        assert_eq!((engine.totals().finished, engine.totals().aborted), (1, 0));
    })
    .await;
}

#[tokio::test]
async fn a_second_signal_ends_it_at_once() {
    bounded(async {
        let (mut router, engine) = slow().await;
        // The first serving thread has an idle connection, and ends before the one with the stream.
        let call = router.post(CHAT, chat(",\"max_tokens\":1")).header("connection", "keep-alive");
        let mut kept = call.open().await;
        assert_eq!(kept.whole().await.status, 200);
        let body = chat(",\"stream\":true,\"max_tokens\":2000");
        let mut client = router.post(CHAT, body).open().await;
        client.until("\"content\":\"").await;
        router.signal("INT").await;
        router.logged("stopping").await;
        assert!(router.runs());
        let second = Instant::now();
        router.signal("TERM").await;
        assert_eq!(router.ended().await.code(), Some(0));
        assert!(second.elapsed() < Duration::from_secs(2), "{:?}", second.elapsed());
        assert_stopped(&client.rest().await);
        engine.wait_for(|totals| totals.aborted == 1).await;
    })
    .await;
}

#[tokio::test]
async fn the_grace_period_ends() {
    bounded(async {
        let config =
            SimConfig { token_interval: Duration::from_millis(25), ..SimConfig::default() };
        let engine = sim(config).await;
        let line = format!("--worker-urls {} --shutdown-grace-period-secs 1", engine.url());
        let mut router = Plimsoll::start(&line).await;
        let body = chat(",\"stream\":true,\"max_tokens\":2000");
        let mut client = router.post(CHAT, body).open().await;
        client.until("\"content\":\"").await;
        router.signal("TERM").await;
        let asked = Instant::now();
        assert_eq!(router.ended().await.code(), Some(0));
        let waited = asked.elapsed().as_secs_f64();
        assert!((0.9..4.0).contains(&waited), "{waited} s");
        router.logged("cut off").await;
        assert_stopped(&client.rest().await);
    })
    .await;
}

/// Who has no answer yet when the time is over is told, too, and both have their line in the log.
#[tokio::test]
async fn what_is_cut_off_is_told_and_accounted_for() {
    bounded(async {
        let log = Log::new();
        let engine =
            sim(SimConfig { time_to_first_token: Duration::from_secs(60), ..SimConfig::default() })
                .await;
        let line =
            format!("--worker-urls {} --shutdown-grace-period-secs 0 {}", engine.url(), log.flag());
        let mut router = Plimsoll::start(&line).await;
        let client = router.post(CHAT, chat("")).open().await;
        engine.wait_for(|totals| totals.requests == 1).await;
        router.signal("TERM").await;
        let answer = client.rest().await;
        assert_eq!(answer.status, 503);
        assert!(answer.error().contains("stopping"));
        assert_eq!(router.ended().await.code(), Some(0));
        let lines = log.lines();
        let [line] = &lines[..] else { panic!("not one line: {lines:?}") };
        assert_eq!((&line["status"], &line["outcome"]), (&503.into(), &"rejected".into()));
        assert_eq!((&line["attempts"], &line["decode"]), (&1.into(), &engine.url().into()));
    })
    .await;
}

/// A worker that always has a next event, and one that has none yet while the head is out.
#[tokio::test]
async fn streams_are_cut_off_however_they_flow() {
    bounded(async {
        for (first_token, heartbeat) in [(0, "0"), (60, "1")] {
            let engine = sim(SimConfig {
                time_to_first_token: Duration::from_secs(first_token),
                token_interval: Duration::ZERO,
                ..SimConfig::default().role(Role::Plain)
            })
            .await;
            let line = format!(
                "--worker-urls {} --shutdown-grace-period-secs 0 --sse-keepalive-secs {heartbeat}",
                engine.url()
            );
            let mut router = Plimsoll::start(&line).await;
            let body = chat(",\"stream\":true,\"max_tokens\":32000");
            let mut client = router.post(CHAT, body).open().await;
            client.until(if heartbeat == "0" { "\"content\":\"" } else { ": ping" }).await;
            router.signal("TERM").await;
            assert_stopped(&client.rest().await);
            assert_eq!(router.ended().await.code(), Some(0));
        }
    })
    .await;
}

/// A stream that was cut off: its last event says so.
fn assert_stopped(answer: &Answer) {
    let text = answer.text();
    let last = text.trim_end().rsplit("\n\n").next().unwrap_or_default();
    assert!(answer.complete && last.starts_with("data: {\"error\""), "{last}");
    assert!(last.contains("\"code\":\"stopping\""), "{last}");
}

#[tokio::test]
async fn idle_it_ends_at_once() {
    bounded(async {
        let (mut router, _engine) = slow().await;
        let call = router.post(CHAT, chat(",\"max_tokens\":1")).header("connection", "keep-alive");
        let mut kept = call.open().await;
        assert_eq!(kept.whole().await.status, 200);
        let asked = Instant::now();
        router.signal("TERM").await;
        assert_eq!(router.ended().await.code(), Some(0));
        assert!(asked.elapsed() < Duration::from_secs(3), "{:?}", asked.elapsed());
    })
    .await;
}

#[tokio::test]
async fn logs_go_to_a_directory_too() {
    bounded(async {
        let folder = Folder::new();
        let dir = folder.path("logs");
        let engine = sim(SimConfig::default()).await;
        let line = format!("--worker-urls {} --log-dir {}", engine.url(), dir.display());
        let mut router = Plimsoll::start(&line).await;
        router.signal("TERM").await;
        assert!(router.ended().await.success());
        let files: Vec<_> = fs::read_dir(&dir).expect("the directory").flatten().collect();
        assert_eq!(files.len(), 1);
        let name = files[0].file_name().into_string().expect("text");
        assert!(name.starts_with("plimsoll.") && name.ends_with(".log"), "{name}");
        let text = fs::read_to_string(files[0].path()).expect("a log file");
        assert!(text.contains("serving on http://") && text.contains("stopping"), "{text}");
        assert!(!text.contains('\u{1b}'), "{text}");
    })
    .await;
}

#[tokio::test]
async fn usage_errors_are_one_line_and_exit_2() {
    bounded(async {
        let worker = "--worker-urls http://127.0.0.1:9";
        for (line, wanted) in [
            (format!("{worker} --prot 1"), "there is no flag --prot; the nearest is --port"),
            (format!("launch {worker} --worker-url x"), "--worker-urls"),
            (format!("{worker} --port x"), "from 0 to 65535"),
            (format!("{worker} --worker-urls ftp://x"), "http"),
            ("--pd-disaggregation --prefill http://127.0.0.1:9".to_owned(), "--decode"),
            ("--decode http://127.0.0.1:9".to_owned(), "--pd-disaggregation"),
            (format!("{worker} --policy manual"), "manual"),
            (format!("{worker} --enable-igw"), "--enable-igw"),
            (format!("{worker} --config /nowhere.toml"), "/nowhere.toml"),
            ("demo --requests 0".to_owned(), "at least 1"),
            ("sim --port 0".to_owned(), "--role"),
        ] {
            let said = said(&line).await;
            assert_eq!(said.code, Some(2), "{line}: {}", said.err);
            assert_eq!(said.err.lines().count(), 1, "{line}: {}", said.err);
            assert!(said.err.contains(wanted), "{line}: {}", said.err);
            assert!(said.out.is_empty());
        }
        assert_eq!(said("").await.code, Some(2));
    })
    .await;
}

#[tokio::test]
async fn a_taken_port_is_named() {
    bounded(async {
        let taken = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let addr = taken.local_addr().expect("an address");
        let line =
            format!("--worker-urls http://127.0.0.1:9 --host 127.0.0.1 --port {}", addr.port());
        let said = said(&line).await;
        assert_eq!(said.code, Some(2), "{}", said.err);
        let is_named = said.err.contains(&addr.to_string()) && said.err.contains("--port");
        assert!(is_named, "{}", said.err);
    })
    .await;
}

#[tokio::test]
async fn a_flag_without_effect_is_one_warning() {
    bounded(async {
        let engine = sim(SimConfig::default()).await;
        let line = format!("launch --worker-urls {} --mini-lb --model-path x", engine.url());
        let router = Plimsoll::start(&line).await;
        let log = router.log();
        let warnings: Vec<_> = log.lines().filter(|line| line.contains("WARN")).collect();
        assert!(warnings.len() == 1 && warnings[0].contains("--model-path"), "{log}");
        assert_eq!(router.post(CHAT, chat("")).send().await.status, 200);
    })
    .await;
}

#[tokio::test]
async fn help_and_version_are_on_standard_output() {
    bounded(async {
        for (line, wanted) in
            [("--help", "--pd-disaggregation"), ("--version", env!("CARGO_PKG_VERSION"))]
        {
            let said = said(line).await;
            assert_eq!(said.code, Some(0), "{line}: {}", said.out);
            assert!(said.out.contains(wanted) && said.err.is_empty(), "{line}: {}", said.out);
        }
    })
    .await;
}

/// The demo's table says the same of replies and page, and the exit code agrees.
#[tokio::test]
async fn the_demo_adds_up() {
    bounded(async {
        let said = said("demo --requests 20 --port 0 --prometheus-port 0").await;
        let text = said.out;
        assert_eq!(said.code, Some(0), "{text}\n{}", said.err);
        for name in ["requests", "prompt tokens", "completion tokens"] {
            let row = text.lines().find_map(|line| line.trim_start().strip_prefix(name));
            let row = row.unwrap_or_else(|| panic!("no {name}: {text}"));
            let numbers: Vec<u64> =
                row.split_whitespace().filter_map(|word| word.parse().ok()).collect();
            assert!(numbers.len() == 2 && numbers[0] == numbers[1] && numbers[0] > 0, "{text}");
            assert!(name != "requests" || numbers[0] == 20, "{text}");
        }
    })
    .await;
}
