//! How streams end: by their own marker, cleanly without it, or after a silence.

use std::time::Duration;

use plimsoll_sim::{
    Fault, FaultAction, SimConfig,
    replay::{Reply, Step},
};

use super::{CHAT, last_error};
use crate::support::{Pair, bounded, chat, sim_pair, stream_of, text_event};

const USAGE: &str =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":4}}\n\n";
const DONE: &str = "data: [DONE]\n\n";
const ASKED: &str = ",\"stream\":true,\"stream_options\":{\"include_usage\":true}";

/// Events, then the last chunk.
fn whole(events: &str) -> Reply {
    Reply::new().write(stream_of(events)).write("0\r\n\r\n")
}

fn prefilled() -> Reply {
    Reply::json(200, r#"{"usage":{"prompt_tokens":9,"completion_tokens":1}}"#)
}

#[tokio::test]
async fn a_marker_in_content_is_content() {
    bounded(async {
        let words = ["data: [DONE]", "\\n\\ndata: [DONE]\\n\\n", "[DONE]", "\\\"data: [DONE]\\\""];
        let events = words.map(text_event).concat() + USAGE + DONE;
        let served = events.clone();
        let pair = Pair::start("", |_| prefilled(), move |_| whole(&served)).await;
        let answer = pair.router.post(CHAT, chat(ASKED)).send().await;
        assert_eq!(answer.text(), events);
        let page = pair.router.settled(1).await;
        assert_eq!(page.outcomes("complete"), 1);
        assert_eq!(page.count("plimsoll_completion_tokens_total", &[]), 4);
    })
    .await;
}

/// The engine ended cleanly but early: nothing is added.
#[tokio::test]
async fn a_stream_without_its_marker_is_truncated() {
    bounded(async {
        let events = text_event("data: [DONE]") + &text_event("\\ndata: [DONE]\\n\\n");
        let served = events.clone();
        let pair = Pair::start("", |_| prefilled(), move |_| whole(&served)).await;
        let answer = pair.router.post(CHAT, chat(ASKED)).send().await;
        assert_eq!((answer.text(), answer.complete), (events, true));
        let page = pair.router.settled(1).await;
        assert_eq!(page.outcomes("truncated"), 1);
        assert_eq!(page.count("plimsoll_partial_completion_tokens_total", &[]), 2);
    })
    .await;
}

#[tokio::test]
async fn an_error_event_of_the_engine_is_relayed() {
    bounded(async {
        let (router, _prefill, decode) = sim_pair(SimConfig::default(), "").await;
        decode.faults().push(Fault::once(FaultAction::ErrorEventAfter(3)));
        let answer = router.post(CHAT, chat(",\"stream\":true")).send().await;
        let text = answer.text();
        assert!(text.contains("Scripted fault") && text.ends_with(DONE), "{text}");
        assert_eq!(router.settled(1).await.outcomes("upstream_error"), 1);
    })
    .await;
}

#[tokio::test]
async fn a_silent_stream_ends_at_the_idle_limit() {
    bounded(async {
        let flags = "--request-timeout-secs 1";
        let (router, _prefill, decode) = sim_pair(SimConfig::default(), flags).await;
        decode.faults().push(Fault::once(FaultAction::StallAfterEvents(3)));
        let answer = router.post(CHAT, chat(",\"stream\":true")).send().await;
        assert_eq!(answer.status, 200);
        assert_eq!(last_error(&answer)["code"], "upstream_timeout");
        decode.faults().push(Fault::once(FaultAction::HangHead));
        let answer = router.post(CHAT, chat("")).send().await;
        assert_eq!(answer.status, 504);
        assert!(answer.error().contains("1 s"), "{}", answer.text());
        let page = router.settled(2).await;
        assert_eq!(page.outcomes("upstream_error"), 2);
        assert!(page.count("plimsoll_attempts_total", &[("result", "timeout")]) >= 2);
        decode.wait_for(|totals| totals.open == 0).await;
    })
    .await;
}

/// The limit is between bytes, never on the whole.
#[tokio::test]
async fn a_slow_stream_is_whole() {
    bounded(async {
        let chunk = |events: &str| format!("{:x}\r\n{events}\r\n", events.len());
        let (first, events) = (stream_of(&text_event("0")), 11);
        let decode = move |_: &_| {
            let later = (1..events).flat_map(move |index| {
                let event = chunk(&text_event(&index.to_string()));
                [Step::Wait(Duration::from_millis(300)), Step::Write(event.into())]
            });
            let end = chunk(&format!("{USAGE}{DONE}")) + "0\r\n\r\n";
            let steps = [Step::Write(first.clone().into())].into_iter().chain(later);
            steps.chain([Step::Write(end.into())]).collect()
        };
        let pair = Pair::start("--request-timeout-secs 1", |_| prefilled(), decode).await;
        let answer = pair.router.post(CHAT, chat(ASKED)).send().await;
        let events: String = (0..events).map(|index| text_event(&index.to_string())).collect();
        assert_eq!(answer.text(), events + USAGE + DONE);
        let page = pair.router.settled(1).await;
        assert_eq!(page.outcomes("complete"), 1);
        assert!(page.sum("plimsoll_request_duration_seconds_sum", &[]) >= 3.0);
        assert_eq!(page.count("plimsoll_inter_chunk_seconds_count", &[]), 10);
    })
    .await;
}
