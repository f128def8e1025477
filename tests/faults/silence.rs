//! Time limits: for the first byte and between bytes, never for the whole.

use std::time::Duration;

use plimsoll_sim::{
    Fault, FaultAction, Role, SimConfig,
    replay::{Reply, Step},
};
use tokio::time::Instant;

use super::{CHAT, all_up, attempts, breaker};
use crate::support::{Plimsoll, bounded, chat, pair_line, replay, sim, stream_of, text_event};

const LIMIT: &str = "--request-timeout-secs 1 --health-check-interval-secs 3600";

#[tokio::test]
async fn a_stream_longer_than_the_limit_is_whole() {
    bounded(async {
        let engine = sim(SimConfig::default()).await;
        let router = Plimsoll::start(&format!("--worker-urls {} {LIMIT}", engine.url())).await;
        let slow = FaultAction::DelayPerEvent(Duration::from_millis(300));
        engine.faults().push(Fault::once(slow));
        let asked = Instant::now();
        let answer = router.post(CHAT, chat(",\"stream\":true,\"max_tokens\":6")).send().await;
        assert!(asked.elapsed() > Duration::from_secs(2), "{:?}", asked.elapsed());
        assert!(
            answer.complete && answer.text().ends_with("data: [DONE]\n\n"),
            "{}",
            answer.text()
        );
        let page = router.settled(1).await;
        assert_eq!((page.outcomes("complete"), attempts(&page, &engine.url(), "ok")), (1, 1));
        assert_eq!(page.count("plimsoll_completion_tokens_total", &[]), 6);
    })
    .await;
}

#[tokio::test]
async fn no_byte_within_the_limit_is_a_504() {
    bounded(async {
        // A head without a byte of its body is silence just the same.
        let head = stream_of("").split_inclusive("\r\n\r\n").next().expect("a head").to_owned();
        for beginning in [String::new(), head] {
            let reply = move |_: &_| Reply::new().write(beginning.clone()).then(Step::WaitForClose);
            let engine = replay(reply).await;
            let router = Plimsoll::start(&format!("--worker-urls {} {LIMIT}", engine.url())).await;
            let asked = Instant::now();
            let answer = router.post(CHAT, chat(",\"stream\":true")).send().await;
            let waited = asked.elapsed().as_secs_f64();
            assert!((0.9..4.0).contains(&waited), "{waited} s");
            assert_eq!(
                (answer.status, &answer.json()["error"]["code"]),
                (504, &"upstream_timeout".into())
            );
            assert!(answer.error().contains(&engine.url()), "{}", answer.text());
            engine.wait_closed(1).await;
            let page = router.settled(1).await;
            assert_eq!(page.outcomes("upstream_error"), 1);
            assert_eq!(attempts(&page, &engine.url(), "timeout"), 1);
        }
    })
    .await;
}

#[tokio::test]
async fn silence_after_a_byte_is_an_error_event() {
    bounded(async {
        let stream = stream_of(&text_event("word"));
        let engine =
            replay(move |_| Reply::new().write(stream.clone()).then(Step::WaitForClose)).await;
        let line = format!("--worker-urls {} {LIMIT} --cb-failure-threshold 1", engine.url());
        let router = Plimsoll::start(&line).await;
        let answer = router.post(CHAT, chat(",\"stream\":true")).send().await;
        let text = answer.text();
        assert!(answer.complete && answer.status == 200, "{text}");
        let error = text.strip_prefix(&text_event("word")).expect("the word");
        assert!(error.starts_with("data: {\"error\":{") && error.ends_with("}\n\n"), "{error}");
        assert!(error.contains("\"code\":\"upstream_timeout\""), "{error}");
        engine.wait_closed(1).await;
        let page = router.settled(1).await;
        assert_eq!(page.outcomes("upstream_error"), 1);
        assert_eq!(page.count("plimsoll_partial_completion_tokens_total", &[]), 1);
        assert_eq!(breaker(&page, &engine.url()), 1);
    })
    .await;
}

/// Who is silent is said: the half of the pair whose byte did not come.
#[tokio::test]
async fn a_silent_prefill_does_not_hang_the_pair() {
    bounded(async {
        let pair =
            crate::support::Pair::start(LIMIT, |_| super::silent(), |_| super::silent()).await;
        let answer = pair.router.post(CHAT, chat("")).send().await;
        assert_eq!(answer.status, 504);
        pair.prefill.wait_closed(1).await;
        pair.decode.wait_closed(1).await;
        assert_eq!(pair.router.settled(1).await.outcomes("upstream_error"), 1);
    })
    .await;
}

/// A decode worker that says nothing while its probes succeed: prefill waits for it in vain, and
/// nobody can tell which of the two hangs. Prefill answers with the other decode worker.
#[tokio::test]
async fn a_mute_worker_is_found_out() {
    bounded(async {
        let prefill = sim(SimConfig::default().role(Role::Prefill)).await;
        let [well, mute] = [0, 1].map(|_| sim(SimConfig::default().role(Role::Decode)));
        let (well, mute) = (well.await, mute.await);
        mute.faults().push(Fault::always(FaultAction::HangHead));
        let port = prefill.bootstrap_port().expect("a bootstrap port");
        let pair = pair_line(&prefill.url(), port, &well.url());
        let flags = "--policy round_robin --cb-failure-threshold 2 --cb-timeout-duration-secs 3600";
        let line = format!("{pair} --decode {} {LIMIT} {flags}", mute.url());
        let router = Plimsoll::start(&line).await;
        all_up(&router, 3).await;
        let mut answers = Vec::new();
        for _ in 0..6 {
            answers.push(router.post(CHAT, chat("")).send().await.status);
        }
        assert_eq!(answers, [200, 504, 200, 504, 200, 200]);
        let page = router.settled(6).await;
        assert_eq!(breaker(&page, &mute.url()), 1);
        assert_eq!((breaker(&page, &prefill.url()), breaker(&page, &well.url())), (0, 0));
        assert_eq!(attempts(&page, &mute.url(), "timeout"), 2);
    })
    .await;
}
