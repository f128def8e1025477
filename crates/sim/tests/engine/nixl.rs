use std::time::Duration;

use plimsoll_sim::{Role, SimConfig, SimEngine, Totals, replay::Capture};
use tokio::net::TcpStream;

use crate::client::{
    assert_like, chat, get, post, read_all, read_until, send, start, text, tiny_vllm, vllm_fixture,
};

const CHAT: &str = "/v1/chat/completions";
const KEEP: &str = ",\"kv_transfer_params\":{\"do_remote_decode\":true,\
                    \"do_remote_prefill\":false,\"remote_engine_id\":null,\
                    \"remote_block_ids\":null,\"remote_host\":null,\"remote_port\":null}";

struct Pair {
    prefill: SimEngine,
    decode: SimEngine,
}

impl Pair {
    async fn start(change: impl Fn(SimConfig) -> SimConfig) -> Self {
        let prefill = start(change(tiny_vllm()).role(Role::Prefill)).await;
        let decode = start(change(tiny_vllm()).role(Role::Decode)).await;
        Self { prefill, decode }
    }

    /// Asks prefill for a prompt.
    async fn prefill(&self, more: &str) -> Capture {
        post(self.prefill.addr(), CHAT, &chat(&format!("{KEEP}{more}"))).await
    }

    async fn decode(&self, params: &str, more: &str) -> Capture {
        let body = chat(&format!(",\"kv_transfer_params\":{params}{more}"));
        post(self.decode.addr(), CHAT, &body).await
    }

    /// What became of all that prefill kept: still there, fetched, expired.
    fn kept(&self) -> (u64, u64, u64) {
        let Totals { kept, fetched, expired, .. } = self.prefill.totals();
        (kept, fetched, expired)
    }
}

fn params(reply: &Capture) -> String {
    let reply: serde_json::Value = serde_json::from_str(&text(reply)).expect("JSON");
    reply["kv_transfer_params"].to_string()
}

fn content(reply: &Capture) -> String {
    let reply: serde_json::Value = serde_json::from_str(&text(reply)).expect("JSON");
    reply["choices"][0]["message"]["content"].to_string()
}

/// A series of decode's metrics page.
async fn series(engine: &SimEngine, name: &str) -> String {
    let page = text(&get(engine.addr(), "/metrics").await);
    let line = page.lines().find(|line| line.starts_with(&format!("vllm:{name}")));
    line.and_then(|line| line.rsplit(' ').next()).expect("the series").to_owned()
}

#[tokio::test]
async fn decode_goes_on_where_prefill_stopped() {
    let pair = Pair::start(|config| config).await;
    let first = pair.prefill(",\"max_tokens\":1").await;
    assert_like(&first, &vllm_fixture("-pd-nixl/chat-short.1prefill"));
    assert_eq!(pair.kept(), (1, 0, 0));
    let held = pair.prefill.used_tokens();
    assert!(held > 0);
    assert_eq!(series(&pair.prefill, "num_requests_running").await, "0.0");
    let second = pair.decode(&params(&first), ",\"max_tokens\":6").await;
    assert_like(&second, &vllm_fixture("-pd-nixl/chat-short.2decode"));
    assert!(content(&second).starts_with(content(&first).trim_end_matches('"')));
    assert!(text(&second).contains("\"cached_tokens\":0,\"created_cache_tokens\":0,"));
    assert_eq!((pair.kept(), pair.prefill.used_tokens()), ((0, 1, 0), 0));
    let prompt = format!("{}.0", held - 1);
    assert_eq!(series(&pair.decode, "external_prefix_cache_hits_total").await, prompt);
    assert_eq!(series(&pair.decode, "nixl_bytes_transferred_count").await, "1.0");
    assert_eq!((pair.decode.used_tokens(), pair.decode.totals().finished), (0, 1));
}

#[tokio::test]
async fn more_tokens_or_prompts_are_kept_as_recorded() {
    let pair = Pair::start(|config| config).await;
    let found = pair.prefill(",\"max_tokens\":2").await;
    assert_like(&found, &vllm_fixture("-pd-nixl/prefill-max5"));
    assert_like(
        &pair.prefill(",\"max_tokens\":1,\"n\":2").await,
        &vllm_fixture("-pd-nixl/chat-n2.1prefill"),
    );
    assert_eq!(pair.kept(), (3, 0, 0));
    let body = format!("{{\"prompt\":[\"a\",\"b\"],\"max_tokens\":1{KEEP}}}");
    let found = post(pair.prefill.addr(), "/v1/completions", &body).await;
    assert!(params(&found).contains("\"remote_request_id\":\"cmpl-"));
    assert_eq!(pair.kept(), (5, 0, 0));
    let more = ",\"max_tokens\":3,\"n\":2";
    let found = pair.decode(&params(&found), more).await;
    assert_eq!((found.status, pair.kept()), (200, (4, 1, 0)));
}

#[tokio::test]
async fn a_stream_is_handed_over_too() {
    let pair = Pair::start(|config| config).await;
    let params = params(&pair.prefill(",\"max_tokens\":1").await);
    let found = pair.decode(&params, ",\"max_tokens\":3,\"stream\":true").await;
    assert!(found.complete && text(&found).contains("\"finish_reason\":\"length\""));
    assert_eq!(pair.kept(), (0, 1, 0));
}

#[tokio::test]
async fn prefill_keeps_only_what_was_asked_for() {
    let pair = Pair::start(|config| config).await;
    let plain = post(pair.prefill.addr(), CHAT, &chat(",\"max_tokens\":2")).await;
    assert_eq!((params(&plain).as_str(), pair.kept()), ("null", (0, 0, 0)));
    // An answer that ended by itself has nothing to go on with.
    assert_eq!((params(&pair.prefill("").await).as_str(), pair.kept()), ("null", (0, 0, 0)));
}

#[tokio::test]
async fn a_streamed_prefill_loses_its_parameters_and_the_kv_until_the_lease_ends() {
    let pair = Pair::start(|config| config.kv_lease(Duration::from_millis(300))).await;
    let more = ",\"max_tokens\":1,\"stream\":true,\"stream_options\":{\"include_usage\":true}";
    let found = pair.prefill(more).await;
    assert_like(&found, &vllm_fixture("-pd-nixl/prefill-stream"));
    assert!(!text(&found).contains("kv_transfer_params"));
    assert_eq!(pair.kept(), (1, 0, 0));
    pair.prefill.wait_for(|totals| totals.expired == 1).await;
    assert_eq!((pair.kept(), pair.prefill.used_tokens()), ((0, 0, 1), 0));
    assert_eq!(series(&pair.prefill, "nixl_num_kv_expired_reqs_total").await, "1.0");
}

#[tokio::test]
async fn what_cannot_be_fetched_is_an_error() {
    let pair = Pair::start(|config| config.kv_lease(Duration::from_millis(50))).await;
    let params = params(&pair.prefill(",\"max_tokens\":1").await);
    pair.prefill.wait_for(|totals| totals.expired == 1).await;
    let recorded = vllm_fixture("-pd-nixl/decode-bad-engine");
    let found = pair.decode(&params, ",\"max_tokens\":3").await;
    assert_like(&found, &recorded);
    assert_eq!(text(&found), text(&recorded));
    let usage = ",\"stream\":true,\"stream_options\":{\"include_usage\":true}";
    let found = pair.decode(&params, usage).await;
    assert_eq!(
        (found.status, text(&found).as_str()),
        (
            200,
            "data: {\"error\": {\"message\": \"Internal server error\", \"type\": \
             \"InternalServerError\", \"param\": null, \"code\": 500}}\n\ndata: [DONE]\n\n"
        )
    );
    let Pair { prefill, decode } = pair;
    prefill.shutdown().await;
    let body = chat(&format!(",\"kv_transfer_params\":{params}"));
    assert_eq!(post(decode.addr(), CHAT, &body).await.status, 500);
    assert_eq!((decode.totals().failed, decode.used_tokens()), (3, 0));
    assert_eq!(series(&decode, "nixl_num_failed_transfers_total").await, "3.0");
}

#[tokio::test]
async fn decode_without_parameters_computes_the_prompt_itself() {
    let pair = Pair::start(|config| config).await;
    for params in ["null", "{}", "{\"do_remote_prefill\":false}"] {
        let found = pair.decode(params, ",\"max_tokens\":3").await;
        assert_like(&found, &vllm_fixture("-pd-nixl/decode-null"));
    }
}

#[tokio::test]
async fn parameters_without_ids_kill_decode() {
    let pair = Pair::start(|config| config.token_interval(Duration::from_millis(5))).await;
    let addr = pair.decode.addr();
    let body = chat(",\"max_tokens\":400,\"stream\":true");
    let mut running = send(addr, "POST", CHAT, &body).await;
    read_until(&mut running, "\"content\":\" ").await;
    let mut idle = TcpStream::connect(addr).await.unwrap();
    let request = b"GET /health HTTP/1.1\r\nhost: x\r\n\r\n";
    tokio::io::AsyncWriteExt::write_all(&mut idle, request).await.unwrap();
    read_until(&mut idle, "Origin\r\n\r\n").await;
    let found = pair.decode("{\"do_remote_prefill\":true}", ",\"max_tokens\":3").await;
    let recorded = vllm_fixture("-pd-nixl/decode-incomplete");
    assert_like(&found, &recorded);
    assert_eq!(text(&found), text(&recorded));
    let rest = String::from_utf8(read_all(running).await.unwrap()).unwrap();
    assert!(rest.contains("EngineCore encountered an issue") && rest.contains("data: [DONE]"));
    assert!(read_all(idle).await.unwrap_or_default().is_empty());
    assert!(TcpStream::connect(addr).await.is_err());
    let totals = pair.decode.totals();
    assert_eq!((totals.killed, totals.failed, totals.open), (1, 2, 0));
    assert_eq!(pair.decode.used_tokens(), 0);
}
