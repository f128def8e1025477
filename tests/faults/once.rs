//! What is not tried again: what a client did wrong, what has no other worker, and anything where
//! retries are off.

use plimsoll_sim::replay::Reply;

use super::{BUSY, CHAT, IN_TURN, Pairs, QUICK, SOON, attempts, busy, good, raw, silent};
use crate::support::{Pair, Plimsoll, bounded, chat, posts, replay};

/// A refusal as an engine sends it.
const LATER: &str = "HTTP/1.1 429 Too Many Requests\r\nretry-after: 7\r\nx-engine: mine\r\n\
                     content-type: application/json; charset=x\r\ncontent-length: 19\r\n\r\n\
                     {\"detail\": \"0.7 s\"}";

#[tokio::test]
async fn a_429_passes_byte_for_byte() {
    bounded(async {
        for more in ["", ",\"stream\":true"] {
            let later = |_, _: &_| Reply::new().then(SOON).write(LATER);
            let pairs = Pairs::start("", |_, _| good(), later).await;
            for _ in 0..2 {
                let answer = pairs.router.post(CHAT, chat(more)).send().await;
                assert_eq!((answer.status, &*answer.text()), (429, "{\"detail\": \"0.7 s\"}"));
                assert_eq!(answer.header("retry-after"), Some("7"));
                assert_eq!(answer.header("x-engine"), Some("mine"));
                assert_eq!(answer.header("content-type"), Some("application/json; charset=x"));
            }
            let (prefill, decode) = pairs.asked();
            assert_eq!((prefill[0] + prefill[1], decode[0] + decode[1]), (2, 2));
            let page = pairs.router.settled(2).await;
            assert_eq!(page.count("plimsoll_retries_total", &[]), 0);
            let refused = [("role", "decode"), ("result", "status_4xx")];
            assert_eq!(page.count("plimsoll_attempts_total", &refused), 2);
            assert_eq!(page.outcomes("client_error"), 2);
            assert_eq!(page.count("plimsoll_worker_eligible", &[]), 4);
        }
    })
    .await;
}

#[tokio::test]
async fn prefills_429_passes_too() {
    bounded(async {
        let later = |_: &_| Reply::new().then(SOON).write(LATER);
        let pair = Pair::start(QUICK, later, |_| silent()).await;
        let answer = pair.router.post(CHAT, chat("")).send().await;
        assert_eq!((answer.status, answer.header("retry-after")), (429, Some("7")));
        assert_eq!(answer.text(), "{\"detail\": \"0.7 s\"}");
        pair.decode.wait_closed(1).await;
        assert_eq!((posts(&pair.prefill).len(), posts(&pair.decode).len()), (1, 1));
    })
    .await;
}

#[tokio::test]
async fn the_only_worker_speaks_for_itself() {
    bounded(async {
        for status in [500, 502, 503, 504, 529] {
            let engine = replay(move |_| Reply::new().write(raw(status, BUSY))).await;
            let line = format!("--worker-urls {} {IN_TURN} {QUICK}", engine.url());
            let router = Plimsoll::start(&line).await;
            let answer = router.post(CHAT, chat("")).send().await;
            assert_eq!((answer.status, &*answer.text()), (status, BUSY));
            assert_eq!(answer.header("x-engine"), Some("mine"));
            let page = router.settled(1).await;
            assert_eq!(posts(&engine).len(), 1);
            assert_eq!(attempts(&page, &engine.url(), "status_5xx"), 1);
            assert_eq!(page.count("plimsoll_retries_total", &[]), 0);
            assert_eq!(page.outcomes("upstream_error"), 1);
        }
    })
    .await;
}

#[tokio::test]
async fn retries_are_off() {
    bounded(async {
        for off in ["--disable-retries", "--retry-max-retries 0"] {
            let pairs = Pairs::start(off, |_, _| good(), |_, _| busy()).await;
            let answer = pairs.router.post(CHAT, chat("")).send().await;
            assert_eq!((answer.status, &*answer.text()), (503, BUSY));
            let (prefill, decode) = pairs.asked();
            assert_eq!((prefill[0] + prefill[1], decode[0] + decode[1]), (1, 1));
            assert_eq!(pairs.router.settled(1).await.count("plimsoll_retries_total", &[]), 0);
        }
    })
    .await;
}

#[tokio::test]
async fn as_often_as_told() {
    bounded(async {
        let engines =
            [replay(|_| busy()).await, replay(|_| busy()).await, replay(|_| busy()).await];
        let urls = engines.each_ref().map(|engine| engine.url()).join(" ");
        let line = format!("--worker-urls {urls} {IN_TURN} {QUICK} --retry-max-retries 1");
        let router = Plimsoll::start(&line).await;
        super::all_up(&router, 3).await;
        assert_eq!(router.post(CHAT, chat("")).send().await.status, 503);
        let asked = engines.each_ref().map(|engine| posts(engine).len());
        assert_eq!(asked.iter().sum::<usize>(), 2);
        assert!(asked.iter().all(|&count| count <= 1), "none is asked twice: {asked:?}");
        assert_eq!(super::retries(&router.settled(1).await, "status_5xx"), 1);
    })
    .await;
}
