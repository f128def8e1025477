//! What fails on one pair of two is served by the other; what would fail again is not tried again.

use plimsoll_sim::replay::{Reply, Step};
use tokio::time::Instant;

use super::{
    BUSY, CHAT, IN_TURN, Pairs, QUICK, all_up, attempts, busy, good, reset, retries, silent,
};
use crate::support::{Page, Plimsoll, bounded, chat, posts, replay, stream_of, text_event};

/// Asks until the failing decode engine had its turn: each request gets the good one's answer.
async fn ask(pairs: &Pairs, more: &str) -> Page {
    for _ in 0..2 {
        let answer = pairs.router.post(CHAT, chat(more)).send().await;
        assert_eq!((answer.status, &*answer.text()), (200, super::ANSWER));
    }
    let page = pairs.router.settled(2).await;
    assert_eq!(page.outcomes("complete"), 2, "{page}");
    page
}

async fn decode_fails(bad: fn() -> Reply, flags: &str, result: &str, reason: &str) {
    let decode = move |index, _: &_| if index == 0 { bad() } else { good() };
    let pairs = Pairs::start(flags, |_, _| good(), decode).await;
    let page = ask(&pairs, "").await;
    let (prefill, decode) = pairs.asked();
    assert!(decode[0] >= 1, "{decode:?}");
    assert_eq!(decode[1], 2);
    // Each attempt had its own prefill: what the first read is lost with its room.
    assert_eq!(prefill[0] + prefill[1], decode[0] + decode[1]);
    assert_eq!(attempts(&page, &pairs.decode[0].url(), result), decode[0] as u64, "{page}");
    assert_eq!(attempts(&page, &pairs.decode[1].url(), "ok"), 2);
    assert_eq!(retries(&page, reason), decode[0] as u64);
    assert_eq!(page.count("plimsoll_retries_total", &[]), decode[0] as u64);
}

#[tokio::test]
async fn decode_answers_5xx() {
    bounded(decode_fails(busy, "", "status_5xx", "status_5xx")).await;
}

#[tokio::test]
async fn decode_dies() {
    bounded(decode_fails(reset, "", "reset", "reset")).await;
}

#[tokio::test]
async fn decode_hangs() {
    bounded(decode_fails(silent, "--request-timeout-secs 1", "timeout", "timeout")).await;
}

/// A head is no byte of an answer.
#[tokio::test]
async fn decode_dies_after_its_head() {
    fn head() -> Reply {
        let head = stream_of("");
        let head = head.split_inclusive("\r\n\r\n").next().expect("a head").to_owned();
        Reply::new().write(head).then(super::SOON).then(Step::Reset)
    }
    bounded(decode_fails(head, "", "reset", "reset")).await;
}

#[tokio::test]
async fn decode_refuses_the_connection() {
    bounded(async {
        let pairs = Pairs::start("", |_, _| good(), |_, _| good()).await;
        let Pairs { router, prefill, decode: [gone, decode] } = pairs;
        let url = gone.url();
        gone.shutdown().await;
        for _ in 0..2 {
            assert_eq!(router.post(CHAT, chat("")).send().await.status, 200);
        }
        let page = router.settled(2).await;
        let refused = attempts(&page, &url, "connect_error");
        assert!(refused >= 1 && retries(&page, "connect_error") == refused, "{page}");
        assert_eq!((posts(&decode).len(), page.outcomes("complete")), (2, 2));
        let cancelled = [("role", "prefill"), ("result", "cancelled")];
        let read = [("role", "prefill"), ("result", "ok")];
        // A prefill that had ended before decode was found dead is none that was cancelled.
        let all = page.count("plimsoll_attempts_total", &cancelled)
            + page.count("plimsoll_attempts_total", &read);
        assert_eq!(all, 2 + refused, "{page}");
        drop(prefill);
    })
    .await;
}

#[tokio::test]
async fn prefill_fails() {
    bounded(async {
        for (bad, reason) in [(busy as fn() -> Reply, "status_5xx"), (reset, "reset")] {
            let prefill = move |index, _: &_| if index == 0 { bad() } else { good() };
            // Decode would wait for a KV cache that does not come.
            let decode = |_, _: &_| {
                Reply::new()
                    .then(Step::Wait(std::time::Duration::from_millis(400)))
                    .write(super::raw(200, super::ANSWER))
            };
            let pairs = Pairs::start("", prefill, decode).await;
            let page = ask(&pairs, "").await;
            let (prefill, _) = pairs.asked();
            assert!(prefill[0] >= 1 && prefill[1] == 2, "{prefill:?}");
            assert_eq!(attempts(&page, &pairs.prefill[0].url(), reason), prefill[0] as u64);
            assert_eq!(retries(&page, reason), prefill[0] as u64, "{page}");
            let cancelled = [("role", "decode"), ("result", "cancelled")];
            assert_eq!(page.count("plimsoll_attempts_total", &cancelled), prefill[0] as u64);
        }
    })
    .await;
}

/// Two prefill engines, but only one that can write: the prompt is read once.
#[tokio::test]
async fn nobody_reads_the_prompt_again_for_the_only_decode() {
    bounded(async {
        let (first, second) = (replay(|_| good()).await, replay(|_| good()).await);
        let decode = replay(|_| busy()).await;
        let line = format!(
            "--pd-disaggregation --prefill {} 8998 --prefill {} 8998 --decode {} {IN_TURN} {QUICK}",
            first.url(),
            second.url(),
            decode.url()
        );
        let router = Plimsoll::start(&line).await;
        all_up(&router, 3).await;
        let answer = router.post(CHAT, chat("")).send().await;
        assert_eq!((answer.status, &*answer.text()), (503, BUSY));
        assert_eq!(answer.header("x-engine"), Some("mine"));
        assert_eq!(posts(&first).len() + posts(&second).len(), 1);
        assert_eq!(posts(&decode).len(), 1);
        let page = router.settled(1).await;
        assert_eq!(
            (page.count("plimsoll_retries_total", &[]), page.outcomes("upstream_error")),
            (0, 1)
        );
    })
    .await;
}

/// Both decode engines fail: the last one's words are the answer, and the other legs are closed.
#[tokio::test]
async fn all_fail() {
    bounded(async {
        let pairs = Pairs::start("", |_, _| silent(), |_, _| busy()).await;
        let asked = Instant::now();
        let answer = pairs.router.post(CHAT, chat("")).send().await;
        assert!(asked.elapsed().as_secs() < 5, "{:?}", asked.elapsed());
        assert_eq!((answer.status, &*answer.text()), (503, BUSY));
        let (prefill, decode) = pairs.asked();
        assert_eq!((prefill[0] + prefill[1], decode), (2, [1, 1]));
        for engine in &pairs.prefill {
            engine.wait_closed(posts(engine).len()).await;
        }
        let page = pairs.router.settled(1).await;
        assert_eq!(
            (retries(&page, "status_5xx"), page.outcomes("upstream_error")),
            (1, 1),
            "{page}"
        );
    })
    .await;
}

/// What has begun is not begun again.
#[tokio::test]
async fn not_after_the_first_byte() {
    bounded(async {
        let decode = |_, _: &_| {
            Reply::new().write(stream_of(&text_event("word"))).then(super::SOON).then(Step::Reset)
        };
        let pairs = Pairs::start("", |_, _| good(), decode).await;
        let answer = pairs.router.post(CHAT, chat(",\"stream\":true")).send().await;
        let text = answer.text();
        assert!(answer.complete && text.starts_with(&text_event("word")), "{text}");
        assert!(text.contains("\"code\":\"upstream_error\"") && !text.contains("[DONE]"), "{text}");
        let (_, decode) = pairs.asked();
        assert_eq!(decode[0] + decode[1], 1);
        assert_eq!(pairs.router.settled(1).await.count("plimsoll_retries_total", &[]), 0);
    })
    .await;
}
