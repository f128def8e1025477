//! A burst larger than decode's window: it waits in the router, not with a room at decode.

use std::time::Duration;

use futures_util::future::join_all;
use plimsoll_sim::{Engine, Role, SimConfig};

use super::CHAT;
use crate::support::{Plimsoll, bounded, chat, pair_line, sim};

async fn burst(engine: Engine) {
    let config = SimConfig::default()
        .engine(engine)
        .model("tiny-llama".to_owned())
        .token_interval(Duration::from_millis(5));
    let prefill = sim(config.clone().role(Role::Prefill)).await;
    let decode = sim(config.role(Role::Decode).max_running_requests(4)).await;
    let port = prefill.bootstrap_port().expect("a port");
    let line = pair_line(&prefill.url(), port, &decode.url());
    let router = Plimsoll::start(&format!("{line} --decode-max-in-flight 4")).await;
    let ask = |index: usize| {
        let more = format!(",\"max_tokens\":20,\"stream\":{}", index % 2 == 0);
        router.post(CHAT, chat(&more)).send()
    };
    let watched = async {
        let (mut deepest, mut most) = (0, 0);
        while decode.totals().finished < 32 {
            let page = router.page().await;
            deepest = deepest.max(page.count("plimsoll_queue_depth", &[]));
            most = most.max(page.count("plimsoll_worker_in_flight", &[("role", "decode")]));
            most = most.max(decode.totals().open);
        }
        (deepest, most)
    };
    let (answers, (deepest, most)) = tokio::join!(join_all((0..32).map(ask)), watched);
    for answer in &answers {
        assert_eq!(answer.status, 200, "{}", answer.text());
    }
    assert!(deepest >= 16, "{deepest} waited");
    assert_eq!(most, 4);
    let page = router.settled(32).await;
    assert_eq!((page.outcomes("complete"), page.count("plimsoll_queue_depth", &[])), (32, 0));
    assert_eq!(page.count("plimsoll_completion_tokens_total", &[]), 32 * 20);
    assert_eq!(page.count("plimsoll_retries_total", &[]), 0);
    assert_eq!((prefill.totals().finished, decode.totals().failed), (32, 0));
    assert_eq!((prefill.used_tokens(), decode.used_tokens()), (0, 0));
}

#[tokio::test]
async fn of_sglang() {
    bounded(burst(Engine::Sglang)).await;
}

#[tokio::test]
async fn of_vllm() {
    bounded(burst(Engine::Vllm)).await;
}
