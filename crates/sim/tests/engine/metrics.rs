use std::time::Duration;

use plimsoll_sim::{Role, SimConfig};

use crate::client::{chat, get, post, read_until, send, start, text, tiny};

async fn page(engine: &plimsoll_sim::SimEngine) -> String {
    text(&get(engine.addr(), "/metrics").await)
}

#[tokio::test]
async fn changing_gauges_wait_for_the_first_batch() {
    let engine = start(tiny().tp(2)).await;
    let before = page(&engine).await;
    for tp in [0, 1] {
        assert!(before.contains(&format!(
            "sglang:max_total_num_tokens{{engine_type=\"unified\",model_name=\"tiny-llama\",\
             moe_ep_rank=\"0\",pp_rank=\"0\",tp_rank=\"{tp}\"}} 4096.0\n"
        )));
    }
    assert!(!before.contains("token_usage") && !before.contains("prompt_tokens_total"));
    post(engine.addr(), "/v1/chat/completions", &chat(",\"max_tokens\":4")).await;
    let after = page(&engine).await;
    assert!(after.contains(
        "# TYPE sglang:token_usage gauge\nsglang:token_usage{engine_type=\"unified\",\
         model_name=\"tiny-llama\",moe_ep_rank=\"0\",pp_rank=\"0\",tp_rank=\"0\"} 0.0\n# HELP"
    ));
    assert!(after.contains(
        "sglang:generation_tokens_total{engine_type=\"unified\",is_streaming=\"false\",\
         model_name=\"tiny-llama\"} 4.0\n"
    ));
    assert!(!after.contains("cached_tokens_total"));
    let long = chat("").replace("Hello", &"Hello ".repeat(20));
    for _ in 0..2 {
        post(engine.addr(), "/v1/chat/completions", &long).await;
    }
    assert!(page(&engine).await.contains("sglang:cached_tokens_total{cache_source=\"device\","));
}

#[tokio::test]
async fn gauges_follow_a_running_request() {
    let config = tiny().token_interval(Duration::from_millis(2)).dp(2);
    let engine = start(config).await;
    let body = chat(",\"max_tokens\":400,\"stream\":true");
    let mut stream = send(engine.addr(), "POST", "/v1/chat/completions", &body).await;
    read_until(&mut stream, "\"content\":\" ").await;
    let page = page(&engine).await;
    assert!(page.contains("sglang:num_running_reqs{dp_rank=\"0\","));
    assert!(!page.contains("sglang:num_running_reqs{dp_rank=\"1\","));
    let value = |name: &str| -> f64 {
        let start = format!("sglang:{name}{{");
        let line = page.lines().find(|line| line.starts_with(&start)).unwrap();
        line.rsplit(' ').next().unwrap().parse().unwrap()
    };
    let (used, free) = (value("kv_used_tokens"), value("kv_available_tokens"));
    assert!(used > 0.0 && used + free + value("kv_evictable_tokens") == 4096.0);
    assert_eq!(value("num_running_reqs"), 1.0);
}

#[tokio::test]
async fn every_line_is_a_comment_or_a_sample() {
    let config = SimConfig::default().role(Role::Plain).model("a\"b".to_owned());
    let engine = start(config).await;
    post(engine.addr(), "/v1/chat/completions", &chat(",\"stream\":true")).await;
    for line in page(&engine).await.lines() {
        let sample = line.rsplit_once("} ").is_some_and(|(name, value)| {
            name.starts_with("sglang:") && (value == "NaN" || value.parse::<f64>().is_ok())
        });
        assert!(sample || line.starts_with("# "), "{line}");
    }
}

#[tokio::test]
async fn without_metrics_there_is_no_page() {
    let engine = start(tiny().metrics(false)).await;
    let found = get(engine.addr(), "/metrics").await;
    assert_eq!((found.status, text(&found)), (404, "{\"detail\":\"Not Found\"}".to_owned()));
}
