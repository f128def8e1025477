//! A failure after the head of a stream is one error event, its last, and is counted as one.

use std::iter;

use futures_util::future::join_all;
use plimsoll_sim::replay::{Reply, Step};
use serde_json::Value;

use super::{CHAT, FLAG, PAUSE, json, streamed, without_pings};
use crate::support::{Answer, Log, Pair, Plimsoll, bounded, replay, stream_of, text_event};

/// One error event, the last; gives the stream before it.
#[track_caller]
fn before_error(answer: &Answer) -> String {
    let text = without_pings(answer);
    assert!(answer.status == 200 && !text.contains("[DONE]"), "{text}");
    let (begun, error) = text.split_once("data: {\"error\":").expect("an error event");
    let error = error.strip_suffix("}\n\n").expect("its end");
    assert!(serde_json::from_str::<Value>(error).is_ok_and(|error| error.is_object()), "{text}");
    begun.to_owned()
}

/// One record, of a stream that failed.
#[track_caller]
fn assert_failed(line: &Value, attempts: u64) {
    assert_eq!(line["outcome"], "upstream_error", "{line}");
    assert_eq!((&line["status"], &line["attempts"]), (&200.into(), &attempts.into()), "{line}");
}

#[tokio::test]
async fn a_late_failure_is_one_event() {
    bounded(async {
        let refused = r#"{"object":"error","message":"too long","code":400}"#;
        let begun = Step::Write(stream_of(&text_event("a")).into());
        let cases = [
            (vec![json(400, refused)], "too long", ""),
            (vec![json(500, "{\"error\":{\"message\":\"no luck\"}}")], "no luck", ""),
            (vec![json(503, "no JSON")], "503", ""),
            (vec![Step::Reset], "decode", ""),
            (vec![begun, PAUSE, Step::Reset], "decode", &*text_event("a")),
        ];
        join_all(cases.map(async |(steps, says, before)| {
            let log = Log::new();
            let flags = format!("{FLAG} {}", log.flag());
            let reply: Reply = iter::once(PAUSE).chain(steps).collect();
            let silent = |_: &_| Reply::new().then(Step::WaitForClose);
            let pair = Pair::start(&flags, silent, move |_| reply.clone()).await;
            let answer = pair.router.post(CHAT, streamed()).send().await;
            assert_eq!(before_error(&answer), before);
            assert!(answer.text().contains(says), "{}", answer.text());
            let page = pair.router.settled(1).await;
            assert_eq!(page.outcomes("upstream_error"), 1, "{page}");
            let line = log.wait(1).await.remove(0);
            assert_failed(&line, 1);
            let workers = [&line["prefill"], &line["decode"]];
            let urls = [pair.prefill.url(), pair.decode.url()].map(Value::from);
            assert_eq!(workers, urls.each_ref());
        }))
        .await;
    })
    .await;
}

/// One of two workers breaks the request off late, the other is not there.
#[tokio::test]
async fn a_late_refusal_of_the_connection_is_one_event() {
    bounded(async {
        let log = Log::new();
        let failing = replay(|_| [PAUSE, Step::Reset].into_iter().collect()).await;
        let gone = replay(|_| Reply::new()).await;
        let line = format!(
            "--worker-urls {} {} {FLAG} --policy round_robin --health-check-interval-secs 60 {}",
            failing.url(),
            gone.url(),
            log.flag()
        );
        let router = Plimsoll::start(&line).await;
        router.page_when(|page| page.count("plimsoll_worker_eligible", &[]) == 2).await;
        gone.shutdown().await;
        for _ in 0..2 {
            assert_eq!(before_error(&router.post(CHAT, streamed()).send().await), "");
        }
        let page = router.settled(2).await;
        let refused = [("result", "connect_error")];
        assert_eq!(page.count("plimsoll_attempts_total", &refused), 2, "{page}");
        log.wait(2).await.iter().for_each(|line| assert_failed(line, 2));
    })
    .await;
}

/// Whoever waits in vain has a head already: the refusal is the event.
#[tokio::test]
async fn a_wait_in_vain_is_a_refusal() {
    bounded(async {
        let log = Log::new();
        let engine = replay(|_| Reply::new().then(Step::WaitForClose)).await;
        let line = format!(
            "--worker-urls {} {FLAG} --max-concurrent-requests 1 --queue-timeout-secs 2 {}",
            engine.url(),
            log.flag()
        );
        let router = Plimsoll::start(&line).await;
        let mut first = router.post(CHAT, streamed()).open().await;
        first.until(": ping").await;
        let answer = router.post(CHAT, streamed()).send().await;
        assert_eq!(before_error(&answer), "");
        assert!(answer.text().contains("queue_timeout"), "{}", answer.text());
        let line = log.wait(1).await.remove(0);
        assert_eq!(
            (&line["outcome"], &line["status"]),
            (&"rejected".into(), &200.into()),
            "{line}"
        );
        assert_eq!(line["attempts"], 0);
    })
    .await;
}
