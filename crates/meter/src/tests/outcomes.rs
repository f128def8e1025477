use std::time::Duration;

use http::{Response, StatusCode};
use plimsoll_wire::{
    Upstream, Usage,
    upstream::{PrefillReply, PrefillReport},
};

use super::{DONE, ERROR, Step, TOKEN, event_stream, exchange, full, one, sent, usage_event};
use crate::{Completeness, Outcome};

const CHAT: &str = "/v1/chat/completions";
const ALL: usize = 100;

fn usage(prompt: u64, completion: u64) -> Usage {
    Usage { prompt: Some(prompt), completion: Some(completion), ..Usage::default() }
}

/// A stream whose every event repeats the counts so far.
const CONTINUOUS: &str = "data: {\"choices\":[{\"text\":\"x\"}],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2}}\n\n";

async fn assert_ends(
    name: &str,
    (steps, frames): (Vec<Step>, usize),
    (outcome, completeness, lower_bound): (Outcome, Completeness, Option<u64>),
) {
    let record = one(CHAT, event_stream(steps), frames).await;
    let seen = (record.outcome, record.completeness, record.completion_lower_bound);
    assert_eq!(seen, (outcome, completeness, lower_bound), "{name}");
    assert_eq!((record.status, record.stream), (Some(200), true), "{name}");
}

#[tokio::test]
async fn streams_that_end_by_themselves() {
    use Completeness::{Absent, Exact, Partial};
    use Outcome::{Complete, Truncated, UpstreamError};
    let counts = usage_event(7, 3);
    let broken = [sent(&[TOKEN, TOKEN]), vec![Step::Break]].concat();
    let broken_late = [sent(&[TOKEN, &counts, DONE]), vec![Step::Break]].concat();
    for (name, steps, ends) in [
        ("whole", sent(&[TOKEN, &counts, DONE]), (Complete, Exact, None)),
        ("not asked", sent(&[TOKEN, DONE]), (Complete, Absent, None)),
        ("no marker", sent(&[TOKEN, TOKEN]), (Truncated, Partial, Some(2))),
        ("broken", broken, (UpstreamError, Partial, Some(2))),
        ("broken after the marker", broken_late, (Complete, Exact, None)),
        ("error", sent(&[TOKEN, ERROR]), (UpstreamError, Partial, Some(1))),
        ("error, then the marker", sent(&[TOKEN, ERROR, DONE]), (UpstreamError, Partial, Some(1))),
        ("error, then counts", sent(&[TOKEN, ERROR, &counts, DONE]), (UpstreamError, Exact, None)),
        ("counts, no marker", sent(&[TOKEN, &counts]), (Truncated, Exact, None)),
        (
            "counts, then broken",
            sent(&[TOKEN, &counts]).into_iter().chain([Step::Break]).collect(),
            (UpstreamError, Exact, None),
        ),
        (
            "only a preview of counts",
            sent(&[&usage_event(7, 0), TOKEN, DONE]),
            (Complete, Absent, None),
        ),
        (
            "a preview, then broken",
            [sent(&[&usage_event(7, 0), TOKEN, TOKEN]), vec![Step::Break]].concat(),
            (UpstreamError, Partial, Some(2)),
        ),
    ] {
        assert_ends(name, (steps, ALL), ends).await;
    }
}

#[tokio::test]
async fn streams_that_the_client_leaves() {
    let left = |lower_bound| (Outcome::ClientDisconnect, Completeness::Partial, Some(lower_bound));
    let whole = (Outcome::Complete, Completeness::Exact, None);
    let counts = usage_event(7, 3);
    assert_ends("middle", (sent(&[TOKEN, TOKEN, TOKEN]), 2), left(2)).await;
    assert_ends("cumulative", (sent(&[CONTINUOUS, TOKEN]), 1), left(2)).await;
    assert_ends(
        "after the counts",
        (sent(&[TOKEN, &counts, DONE]), 2),
        (Outcome::ClientDisconnect, Completeness::Exact, None),
    )
    .await;
    assert_ends("after the marker", (sent(&[TOKEN, &counts, DONE, ""]), 3), whole).await;
}

#[tokio::test]
async fn answers_by_status_and_end() {
    let body = r#"{"model":"m","usage":{"prompt_tokens":7,"completion_tokens":3}}"#;
    for (status, frames, outcome, completeness) in [
        (200, ALL, Outcome::Complete, Completeness::Exact),
        (200, 0, Outcome::ClientDisconnect, Completeness::Partial),
        (404, ALL, Outcome::ClientError, Completeness::Absent),
        (503, ALL, Outcome::UpstreamError, Completeness::Absent),
    ] {
        let response = Response::builder().status(status).body(full(body)).unwrap();
        let record = one(CHAT, response, frames).await;
        assert_eq!((record.outcome, record.completeness), (outcome, completeness), "{status}");
        assert_eq!((record.status, record.stream), (Some(status), false));
        if completeness == Completeness::Exact {
            assert_eq!((record.usage, record.model.as_deref()), (usage(7, 3), Some("m")));
        }
    }
}

#[tokio::test]
async fn an_error_in_an_answer_of_200_is_one() {
    let record = one(CHAT, Response::new(full(r#"{"error":{"code":500}}"#)), ALL).await;
    assert_eq!(record.outcome, Outcome::UpstreamError);
}

#[tokio::test]
async fn what_the_router_refused_is_rejected() {
    let mut response = Response::new(full("{}"));
    *response.status_mut() = StatusCode::SERVICE_UNAVAILABLE;
    response.extensions_mut().insert(Upstream { refused: true, ..Upstream::default() });
    assert_eq!(one(CHAT, response, ALL).await.outcome, Outcome::Rejected);
}

#[tokio::test]
async fn an_encoded_body_is_unreadable() {
    let response = Response::builder().header("content-encoding", "gzip").body(full("\u{1f}"));
    let record = one(CHAT, response.unwrap(), ALL).await;
    assert_eq!(
        (record.outcome, record.completeness),
        (Outcome::Complete, Completeness::Unreadable)
    );
}

#[tokio::test]
async fn paths_outside_the_api_are_not_metered() {
    for path in ["/health", "/v1/models", "/metrics"] {
        let records = exchange(path, Response::new(full("{}")), ALL).await;
        assert!(records.lock().unwrap().is_empty(), "{path}");
    }
}

/// Nor where the answer states no counts, or fewer prompt tokens than were cached.
#[tokio::test]
async fn prefill_alone_makes_no_counts() {
    let counted = r#"{"usage":{"prompt_tokens":9,"completion_tokens":4}}"#;
    for (status, answer, cached, anomalies) in
        [(500, "{}", None, 0), (200, "{}", None, 0), (200, counted, Some(16), 1)]
    {
        let (reporter, reply) = PrefillReply::channel();
        let response = Response::builder().status(status);
        let upstream = Upstream { prefill_reply: Some(reply), ..Upstream::default() };
        let response = response.extension(upstream).body(full(answer)).unwrap();
        let records = exchange(CHAT, response, ALL).await;
        let usage = Some(Usage { cached: Some(16), ..usage(16, 1) });
        reporter.send(PrefillReport { usage, duration: Duration::ZERO });
        let records = records.lock().unwrap();
        assert_eq!(
            (records[0].usage.cached, records[0].anomalies),
            (cached, anomalies),
            "{answer}"
        );
    }
}

#[tokio::test]
async fn cached_tokens_of_a_pair_are_those_of_prefill() {
    let answer = r#"{"usage":{"prompt_tokens":9,"completion_tokens":4,"prompt_tokens_details":{"cached_tokens":8}}}"#;
    for (prefill, cached) in [(Some(6), Some(6)), (None, None)] {
        let (reporter, reply) = PrefillReply::channel();
        let mut response = Response::new(full(answer));
        let upstream = Upstream { prefill_reply: Some(reply), ..Upstream::default() };
        response.extensions_mut().insert(upstream);
        let records = exchange(CHAT, response, ALL).await;
        assert!(records.lock().unwrap().is_empty(), "recorded before prefill's counts are known");
        let duration = Duration::from_millis(30);
        let usage_of = |cached| Usage { cached: Some(cached), ..usage(9, 1) };
        reporter.send(PrefillReport { usage: prefill.map(usage_of), duration });
        let records = records.lock().unwrap();
        let seen: Vec<_> =
            records.iter().map(|record| (record.usage, record.prefill_duration)).collect();
        assert_eq!(seen, [(Usage { cached, ..usage(9, 4) }, Some(duration))]);
    }
}
