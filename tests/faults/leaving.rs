//! A client that leaves a vLLM pair or the line takes its request with it, wherever it is.

use std::time::Duration;

use plimsoll_sim::{
    Engine, SimConfig,
    replay::{ReplayServer, Reply, Step},
};

use super::{CHAT, good, silent};
use crate::support::{
    Pair, Plimsoll, bounded, chat, eventually, posts, replay, sim_pair, stream_of, text_event,
};

const KEPT: &str = r#"{"choices":[],"kv_transfer_params":{"do_remote_prefill":true}}"#;

async fn asked(engine: &ReplayServer, count: usize) {
    eventually(async || match posts(engine).len() {
        posts if posts == count => Ok(()),
        posts => Err(format!("{posts} requests")),
    })
    .await;
}

#[tokio::test]
async fn while_prefill_reads() {
    bounded(async {
        let pair = Pair::start("--engine vllm", |_| silent(), |_| good()).await;
        let client = pair.router.post(CHAT, chat("")).open().await;
        asked(&pair.prefill, 1).await;
        drop(client);
        pair.prefill.wait_closed(1).await;
        let page = pair.router.settled(1).await;
        assert_eq!((posts(&pair.decode).len(), page.outcomes("client_disconnect")), (0, 1));
        let cancelled = [("role", "prefill"), ("result", "cancelled")];
        assert_eq!(page.count("plimsoll_attempts_total", &cancelled), 1);
        assert_eq!(page.count("plimsoll_attempts_total", &[]), 1, "{page}");
    })
    .await;
}

/// Prefill has answered its head, and its parameters are on their way.
#[tokio::test]
async fn amid_prefills_answer() {
    bounded(async {
        let half =
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 90\r\n\r\n{";
        let prefill = move |_: &_| Reply::new().write(half).then(Step::WaitForClose);
        let pair = Pair::start("--engine vllm", prefill, |_| good()).await;
        let client = pair.router.post(CHAT, chat(",\"stream\":true")).open().await;
        asked(&pair.prefill, 1).await;
        drop(client);
        pair.prefill.wait_closed(1).await;
        pair.router.settled(1).await;
        assert!(posts(&pair.decode).is_empty());
    })
    .await;
}

#[tokio::test]
async fn between_the_legs_and_amid_decodes_stream() {
    bounded(async {
        let streaming =
            || Reply::new().write(stream_of(&text_event("word"))).then(Step::WaitForClose);
        for (decode, wanted) in [(silent as fn() -> Reply, ""), (streaming, "word")] {
            let pair =
                Pair::start("--engine vllm", |_| Reply::json(200, KEPT), move |_| decode()).await;
            let mut client = pair.router.post(CHAT, chat(",\"stream\":true")).open().await;
            asked(&pair.decode, 1).await;
            if !wanted.is_empty() {
                client.until(wanted).await;
            }
            drop(client);
            pair.decode.wait_closed(1).await;
            let page = pair.router.settled(1).await;
            assert_eq!(page.outcomes("client_disconnect"), 1);
            for (role, result) in [("prefill", "ok"), ("decode", "cancelled")] {
                let labels = [("role", role), ("result", result)];
                assert_eq!(page.count("plimsoll_attempts_total", &labels), 1, "{page}");
            }
        }
    })
    .await;
}

/// Simulated engines, and clients that leave amid the stream: no KV cache stays taken.
#[tokio::test]
async fn nothing_stays_taken() {
    bounded(async {
        let config = SimConfig::default()
            .engine(Engine::Vllm)
            .model("tiny-llama".to_owned())
            .token_interval(Duration::from_millis(20));
        let (router, prefill, decode) = sim_pair(config, "").await;
        for _ in 0..3 {
            let body = chat(",\"stream\":true,\"max_tokens\":1000");
            let mut client = router.post(CHAT, body).open().await;
            client.until("\"content\":\"").await;
        }
        let totals = decode.wait_for(|totals| totals.aborted == 3).await;
        assert_eq!((totals.open, decode.used_tokens()), (0, 0));
        assert_eq!(prefill.wait_for(|totals| totals.fetched == 3).await.kept, 0);
        assert_eq!(router.settled(3).await.outcomes("client_disconnect"), 3);
    })
    .await;
}

#[tokio::test]
async fn while_waiting_in_the_line() {
    bounded(async {
        let engine = replay(|_| silent()).await;
        let line = format!("--worker-urls {} --max-concurrent-requests 1", engine.url());
        let router = Plimsoll::start(&line).await;
        let first = router.post(CHAT, chat("")).open().await;
        asked(&engine, 1).await;
        let depth = |depth| {
            let router = &router;
            async move {
                router.page_when(|page| page.count("plimsoll_queue_depth", &[]) == depth).await
            }
        };
        let waiting = router.post(CHAT, chat("")).open().await;
        let streaming = router.post(CHAT, chat(",\"stream\":true")).open().await;
        depth(2).await;
        drop(waiting);
        depth(1).await;
        drop(streaming);
        let page = depth(0).await;
        assert_eq!(page.count("plimsoll_queue_wait_seconds_count", &[]), 2);
        drop(first);
        engine.wait_closed(1).await;
        let page = router.settled(3).await;
        let left = [("outcome", "client_disconnect"), ("code", "0")];
        assert_eq!((page.count("plimsoll_requests_total", &left), posts(&engine).len()), (3, 1));
    })
    .await;
}
