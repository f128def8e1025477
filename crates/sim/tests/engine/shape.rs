use plimsoll_sim::SimEngine;

use crate::client::{assert_like, chat, fixture, get, post, start, text, tiny};

async fn assert_same_error(engine: &SimEngine, body: &str, recording: &str) {
    let found = post(engine.addr(), "/v1/chat/completions", body).await;
    let recorded = fixture(recording);
    assert_like(&found, &recorded);
    assert_eq!(text(&found), text(&recorded));
}

#[tokio::test]
async fn chat_answers_look_as_recorded() {
    let engine = start(tiny()).await;
    for (more, recording) in [
        (",\"max_tokens\":8", "chat"),
        (
            ",\"max_tokens\":5,\"stream\":true,\"stream_options\":{\"include_usage\":true}",
            "chat-stream-usage",
        ),
        (
            ",\"max_tokens\":5,\"stream\":true,\"stream_options\":{\"include_usage\":true,\
             \"continuous_usage_stats\":true}",
            "chat-stream-usage-continuous",
        ),
    ] {
        let found = post(engine.addr(), "/v1/chat/completions", &chat(more)).await;
        assert_like(&found, &fixture(recording));
    }
}

#[tokio::test]
async fn completions_look_as_recorded() {
    let engine = start(tiny()).await;
    let batch = r#"{"model":"tiny-llama","prompt":["The with statement","Python is"],
        "max_tokens":3}"#;
    let found = post(engine.addr(), "/v1/completions", batch).await;
    assert_like(&found, &fixture("completions-batch"));
    let stream = r#"{"model":"tiny-llama","prompt":"The with statement","max_tokens":4,
        "stream":true,"stream_options":{"include_usage":true}}"#;
    let found = post(engine.addr(), "/v1/completions", stream).await;
    assert_like(&found, &fixture("completions-stream-usage"));
}

#[tokio::test]
async fn native_answers_look_as_recorded() {
    let engine = start(tiny()).await;
    let words = "The with statement is used to wrap the execution of a block with methods";
    let ask = |more: &str| {
        format!("{{\"text\":\"{words}\"{more},\"sampling_params\":{{\"max_new_tokens\":4}}}}")
    };
    let found = post(engine.addr(), "/generate", &ask("")).await;
    assert_like(&found, &fixture("generate"));
    let found = post(engine.addr(), "/generate", &ask(",\"stream\":true")).await;
    assert_eq!(found.chunks.len(), fixture("generate-stream").chunks.len());
    assert!(text(&found).contains("\"cached_tokens_details\":{\"device\":16,\"host\":0}"));
}

#[tokio::test]
async fn errors_are_word_for_word() {
    let engine = start(tiny()).await;
    let bad_json = "{\"model\": \"x\", \"messages\": [";
    assert_same_error(&engine, bad_json, "err-bad-json").await;
    let missing = "{\"model\":\"tiny-llama\"}";
    assert_same_error(&engine, missing, "err-missing-messages").await;
    for (more, recording) in [
        (",\"max_tokens\":\"many\"", "err-wrong-type"),
        (",\"max_tokens\":-5", "err-negative-max-tokens"),
        (",\"temperature\":-1", "err-temperature"),
        (",\"max_tokens\":100000", "err-too-long-max-tokens"),
    ] {
        assert_same_error(&engine, &chat(more), recording).await;
    }
    let found = post(engine.addr(), "/generate", "{}").await;
    assert_eq!(text(&found), text(&fixture("err-generate")));
    let long = chat(&format!(",\"messages\":[{{\"content\":\"{}\"}}]", "word ".repeat(600)));
    let found = post(engine.addr(), "/v1/chat/completions", &long).await;
    assert_eq!(found.status, 400);
    assert!(text(&found).contains("is longer than the model's context length (512 tokens)."));
}

#[tokio::test]
async fn other_paths_look_as_recorded() {
    let engine = start(tiny().dp(2)).await;
    for (path, recording) in [
        ("/v1/nope", "err-404"),
        ("/v1/chat/completions", "err-405"),
        ("/health", "health"),
        ("/v1/models", "models"),
    ] {
        assert_like(&get(engine.addr(), path).await, &fixture(recording));
    }
    let loads = text(&get(engine.addr(), "/v1/loads").await);
    let recorded = text(&fixture("loads-dp2"));
    let keys = |json: &str| {
        let value: serde_json::Value = serde_json::from_str(json).expect("JSON");
        let first = value["loads"][1].as_object().expect("two ranks").keys().cloned();
        first.collect::<Vec<_>>()
    };
    assert_eq!(keys(&loads), keys(&recorded));
    let info = text(&get(engine.addr(), "/server_info").await);
    assert!(info.contains("\"max_total_num_tokens\":4096") && info.contains("\"dp_size\":2"));
}

#[tokio::test]
async fn cached_tokens_are_told_where_asked_for() {
    let engine = start(tiny().cache_report(true)).await;
    let ask = chat(",\"max_tokens\":2");
    let first = post(engine.addr(), "/v1/chat/completions", &ask).await;
    assert!(text(&first).contains("\"prompt_tokens_details\":{\"cached_tokens\":0}"));
    let long = ask.replace("Hello", &"Hello ".repeat(20));
    post(engine.addr(), "/v1/chat/completions", &long).await;
    let second = post(engine.addr(), "/v1/chat/completions", &long).await;
    assert!(text(&second).contains("\"prompt_tokens_details\":{\"cached_tokens\":48}"));
}

#[tokio::test]
async fn an_answer_without_limit_ends_by_itself() {
    let engine = start(tiny().default_max_tokens(3)).await;
    let found = text(&post(engine.addr(), "/v1/chat/completions", &chat("")).await);
    assert!(found.contains("\"finish_reason\":\"stop\",\"matched_stop\":2"));
    assert!(found.contains("\"completion_tokens\":3"));
}
