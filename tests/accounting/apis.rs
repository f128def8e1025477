//! The other APIs, in front of plain workers: every byte passes, and what they state is counted.

use plimsoll_sim::replay::Reply;
use serde_json::Value;

use crate::support::{Log, Plimsoll, bounded, replay};

const MESSAGES: &str = include_str!("../fixtures/samples/sse/anthropic-messages-sglang-0.5.23.sse");

const RESPONSES: &str = "event: response.created\ndata: {\"type\":\"response.created\",\"response\":{\"id\":\"r\",\"model\":\"m\",\"status\":\"in_progress\",\"usage\":null}}\n\nevent: response.output_text.delta\ndata: {\"type\":\"response.output_text.delta\",\"delta\":\"Hello\",\"logprobs\":[]}\n\nevent: response.completed\ndata: {\"type\":\"response.completed\",\"response\":{\"id\":\"r\",\"model\":\"m\",\"status\":\"completed\",\"usage\":{\"input_tokens\":9,\"input_tokens_details\":{\"cached_tokens\":4},\"output_tokens\":5,\"output_tokens_details\":{\"reasoning_tokens\":2},\"total_tokens\":14}}}\n\n";

fn answer(content_type: &str, body: &str) -> Reply {
    let length = body.len();
    Reply::new().write(format!(
        "HTTP/1.1 200 OK\r\ncontent-type: {content_type}\r\ncontent-length: {length}\r\n\r\n{body}"
    ))
}

/// Sends one request to a plain worker that answers so, and gives its line.
async fn line_of(path: &'static str, content_type: &'static str, body: &'static str) -> Value {
    let log = Log::new();
    let engine = replay(move |_| answer(content_type, body)).await;
    let router = Plimsoll::start(&format!("--worker-urls {} {}", engine.url(), log.flag())).await;
    let stream = content_type == "text/event-stream";
    let request = format!("{{\"model\":\"m\",\"input\":\"Hi\",\"stream\":{stream}}}");
    let got = router.post(path, request).send().await;
    assert_eq!(got.text(), body, "{path}");
    let page = router.settled(1).await;
    let line = log.wait(1).await.remove(0);
    let counted = ["prompt", "completion", "cached_prompt", "reasoning"]
        .map(|name| page.count(&format!("plimsoll_{name}_tokens_total"), &[]));
    let stated = ["prompt", "completion", "cached", "reasoning"]
        .map(|name| line["usage"][name].as_u64().unwrap_or(0));
    assert_eq!(counted, stated, "{path}\n{page}");
    line
}

#[tokio::test]
async fn streams_of_messages_and_responses() {
    for (path, body, counts, reason) in [
        ("/v1/messages", MESSAGES, [Some(18), Some(6), Some(16), None], "end_turn"),
        ("/v1/responses", RESPONSES, [Some(9), Some(5), Some(4), Some(2)], "completed"),
    ] {
        bounded(async move {
            let line = line_of(path, "text/event-stream", body).await;
            let stated = ["prompt", "completion", "cached", "reasoning"]
                .map(|name| line["usage"][name].as_u64());
            assert_eq!(stated, counts, "{line}");
            assert_eq!(line["outcome"], "complete");
            assert_eq!(line["finish_reasons"][0], reason);
            assert!(line["timing"]["first_token_ms"].is_number(), "{line}");
        })
        .await;
    }
}

#[tokio::test]
async fn answers_of_the_others() {
    for (path, endpoint, body, prompt) in [
        (
            "/v1/embeddings",
            "embeddings",
            r#"{"data":[],"usage":{"prompt_tokens":9,"total_tokens":9}}"#,
            Some(9),
        ),
        ("/v1/rerank", "rerank", r#"{"results":[],"usage":{"total_tokens":9}}"#, Some(9)),
        ("/v1/rerank", "rerank", r#"[{"score":0.5,"index":0}]"#, None),
        (
            "/v1/score",
            "score",
            r#"{"scores":[],"usage":{"prompt_tokens":9,"completion_tokens":0,"total_tokens":9}}"#,
            Some(9),
        ),
        (
            "/v1/classify",
            "classify",
            r#"{"data":[],"usage":{"prompt_tokens":9,"total_tokens":9,"completion_tokens":0}}"#,
            Some(9),
        ),
    ] {
        bounded(async move {
            let line = line_of(path, "application/json", body).await;
            assert_eq!(
                (&line["endpoint"], line["usage"]["prompt"].as_u64()),
                (&endpoint.into(), prompt)
            );
            let want = if prompt.is_some() { "exact" } else { "absent" };
            assert_eq!(line["completeness"], want, "{line}");
        })
        .await;
    }
}
