//! Every shape of usage, read by the whole layer: what of it is counted.

use http::Response;
use plimsoll_wire::Usage;

use super::{DONE, TOKEN, event_stream, full, one, sent, usage_event};
use crate::{Completeness, Outcome, Record};

/// Prompt, completion, cached and reasoning tokens.
type Counts = (u64, u64, Option<u64>, Option<u64>);

#[track_caller]
fn assert_exact(record: &Record, (prompt, completion, cached, reasoning): Counts, name: &str) {
    let usage = Usage { prompt: Some(prompt), completion: Some(completion), cached, reasoning };
    assert_eq!((record.usage, record.completeness), (usage, Completeness::Exact), "{name}");
    assert_eq!(record.outcome, Outcome::Complete, "{name}");
    assert_eq!(record.completion_lower_bound, None, "{name}");
}

#[tokio::test]
async fn json_answers() {
    for (path, body, counts) in [
        (
            "/v1/chat/completions",
            r#"{"usage":{"prompt_tokens":24,"completion_tokens":5,"total_tokens":29,"reasoning_tokens":0,"prompt_tokens_details":{"cached_tokens":6}}}"#,
            (24, 5, Some(6), Some(0)),
        ),
        (
            "/v1/completions",
            r#"{"usage":{"prompt_tokens":24,"completion_tokens":5,"total_tokens":29,"prompt_tokens_details":null}}"#,
            (24, 5, None, None),
        ),
        (
            "/generate",
            r#"[{"meta_info":{"prompt_tokens":4,"completion_tokens":2,"cached_tokens":1}},{"meta_info":{"prompt_tokens":5,"completion_tokens":3,"cached_tokens":0}}]"#,
            (9, 5, Some(1), None),
        ),
        (
            "/v1/responses",
            r#"{"status":"completed","usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":14}}"#,
            (9, 5, Some(4), Some(2)),
        ),
        (
            "/v1/messages",
            r#"{"type":"message","usage":{"input_tokens":2,"cache_creation_input_tokens":3,"cache_read_input_tokens":16,"output_tokens":6}}"#,
            (21, 6, Some(16), None),
        ),
        (
            "/v1/embeddings",
            r#"{"usage":{"prompt_tokens":9,"total_tokens":9,"completion_tokens":0}}"#,
            (9, 0, None, None),
        ),
        (
            "/v1/score",
            r#"{"usage":{"prompt_tokens":9,"total_tokens":9,"completion_tokens":0}}"#,
            (9, 0, None, None),
        ),
        (
            "/v1/chat/completions",
            r#"{"usage":{"prompt_tokens":0,"completion_tokens":0}}"#,
            (0, 0, None, None),
        ),
    ] {
        let record = one(path, Response::new(full(body)), 9).await;
        assert_exact(&record, counts, path);
    }
}

#[tokio::test]
async fn answers_that_state_no_number() {
    for (path, body, anomalies) in [
        ("/v1/rerank", r#"[{"score":0.7,"index":0}]"#, 0),
        ("/v1/chat/completions", "{}", 0),
        ("/v1/chat/completions", r#"{"usage":null}"#, 0),
        ("/v1/chat/completions", r#"{"usage":{"total_tokens":9}}"#, 1),
        ("/v1/chat/completions", r#"{"usage":"n/a"}"#, 1),
        ("/v1/chat/completions", r#"{"usage":{"prompt_tokens":-1,"completion_tokens":1e99}}"#, 1),
        ("/v1/audio/transcriptions", r#"{"usage":{"type":"duration","seconds":3}}"#, 0),
    ] {
        let record = one(path, Response::new(full(body)), 9).await;
        assert_eq!(record.completeness, Completeness::Absent, "{body}");
        assert_eq!((record.usage, record.anomalies), (Usage::default(), anomalies), "{body}");
    }
}

#[tokio::test]
async fn contradictions_are_kept_as_stated_and_counted() {
    let body = r#"{"usage":{"prompt_tokens":4,"completion_tokens":2,"total_tokens":9,"prompt_tokens_details":{"cached_tokens":5}}}"#;
    let record = one("/v1/chat/completions", Response::new(full(body)), 9).await;
    assert_exact(&record, (4, 2, Some(5), None), body);
    assert_eq!(record.anomalies, 2);
}

/// A stream of `/generate`, one sample.
const GENERATE: &str = "data: {\"text\":\"a\",\"meta_info\":{\"prompt_tokens\":5,\"completion_tokens\":1,\"cached_tokens\":0,\"finish_reason\":null}}\n\ndata: {\"text\":\"ab\",\"meta_info\":{\"prompt_tokens\":5,\"completion_tokens\":3,\"cached_tokens\":0,\"finish_reason\":{\"type\":\"stop\"}}}\n\n";

const RESPONSES: &str = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"model\":\"m\",\"usage\":null}}\n\nevent: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"Hi\"}\n\nevent: response.incomplete\ndata: {\"type\":\"response.incomplete\",\"response\":{\"model\":\"m\",\"status\":\"incomplete\",\"incomplete_details\":{\"reason\":\"max_output_tokens\"},\"usage\":{\"prompt_tokens\":9,\"completion_tokens\":1,\"total_tokens\":10}}}\n\n";

const MESSAGES: &str = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"m\",\"usage\":{\"input_tokens\":2,\"output_tokens\":0,\"cache_read_input_tokens\":16}}}\n\nevent: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"delta\":{\"type\":\"text_delta\",\"text\":\"Hi\"}}\n\nevent: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"end_turn\"},\"usage\":{\"output_tokens\":6}}\n\nevent: message_stop\ndata: {\"type\":\"message_stop\"}\n\n";

#[tokio::test]
async fn streams() {
    for (path, pieces, counts, reasons) in [
        (
            "/v1/chat/completions",
            vec![TOKEN.to_owned(), usage_event(7, 3), DONE.to_owned()],
            (7, 3, None, None),
            &[][..],
        ),
        ("/generate", vec![GENERATE.to_owned() + DONE], (5, 3, Some(0), None), &["stop"]),
        ("/v1/responses", vec![RESPONSES.to_owned()], (9, 1, None, None), &["max_output_tokens"]),
        ("/v1/messages", vec![MESSAGES.to_owned()], (18, 6, Some(16), None), &["end_turn"]),
    ] {
        let pieces: Vec<_> = pieces.iter().map(String::as_str).collect();
        let record = one(path, event_stream(sent(&pieces)), 99).await;
        assert_exact(&record, counts, path);
        assert_eq!(record.finish_reasons, reasons, "{path}");
        assert!(record.timing.first_token.is_some(), "{path}");
    }
}

/// The marker of each API ends its streams, and no other one does.
#[tokio::test]
async fn streams_without_their_marker() {
    let cut = |stream: &str, from: &str| stream[..stream.find(from).unwrap()].to_owned();
    for (path, stream, completeness, lower_bound) in [
        ("/generate", GENERATE.to_owned(), Completeness::Exact, None),
        ("/generate", cut(GENERATE, "data: {\"text\":\"ab\""), Completeness::Partial, Some(1)),
        (
            "/v1/responses",
            cut(RESPONSES, "event: response.incomplete") + DONE,
            Completeness::Partial,
            Some(1),
        ),
        ("/v1/messages", cut(MESSAGES, "event: message_stop"), Completeness::Exact, None),
        (
            "/v1/messages",
            cut(MESSAGES, "event: message_delta") + DONE,
            Completeness::Partial,
            Some(1),
        ),
    ] {
        let record = one(path, event_stream(sent(&[&stream])), 99).await;
        assert_eq!(record.outcome, Outcome::Truncated, "{path}");
        let seen = (record.completeness, record.completion_lower_bound);
        assert_eq!(seen, (completeness, lower_bound), "{path}");
    }
}

#[tokio::test]
async fn streams_that_report_a_failure() {
    let failed = "data: {\"type\":\"response.failed\",\"response\":{\"status\":\"failed\",\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\n";
    let error =
        "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\"}}\n\n";
    for (path, stream, completeness) in [
        ("/v1/responses", failed, Completeness::Exact),
        ("/v1/messages", error, Completeness::Partial),
        (
            "/generate",
            "data: {\"error\":{\"message\":\"m\"}}\n\ndata: [DONE]\n\n",
            Completeness::Partial,
        ),
    ] {
        let record = one(path, event_stream(sent(&[stream])), 99).await;
        let seen = (record.outcome, record.completeness);
        assert_eq!(seen, (Outcome::UpstreamError, completeness), "{path}");
    }
}
