//! The first failure of either leg is the answer, at once, and ends the other leg.

use std::time::Duration;

use plimsoll_sim::{
    Fault, FaultAction, SimConfig,
    replay::{Reply, Step},
};
use tokio::time::Instant;

use super::{CHAT, last_error};
use crate::support::{
    Answer, Pair, bounded, chat, eventually, posts, sim_pair, stream_of, text_event,
};

/// Far less than any time limit of the router or of an engine.
const QUICKLY: Duration = Duration::from_secs(1);

const REFUSAL: &str = r#"{"object":"error","message":"too long","code":400}"#;

fn silent() -> Reply {
    Reply::new().then(Step::WaitForClose)
}

/// Long enough for the other leg to be under way.
const SOON: Step = Step::Wait(Duration::from_millis(100));

fn reset() -> Reply {
    Reply::new().then(SOON).then(Step::Reset)
}

fn refusal(status: u16) -> Reply {
    Reply::new().then(SOON).write(format!(
        "HTTP/1.1 {status} No\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n\
         {REFUSAL}",
        REFUSAL.len()
    ))
}

/// The answer, which came quickly.
async fn ask(pair: &Pair, more: &str) -> Answer {
    let asked = Instant::now();
    let answer = pair.router.post(CHAT, chat(more)).send().await;
    assert!(asked.elapsed() < QUICKLY, "it took {:?}", asked.elapsed());
    answer
}

#[tokio::test]
async fn prefill_refuses_while_decode_hangs() {
    bounded(async {
        let pair = Pair::start("", |_| refusal(400), |_| silent()).await;
        for (index, more) in ["", ",\"stream\":true"].into_iter().enumerate() {
            let answer = ask(&pair, more).await;
            assert_eq!((answer.status, &*answer.text()), (400, REFUSAL));
            pair.decode.wait_closed(index + 1).await;
        }
        let page = pair.router.settled(2).await;
        assert_eq!(page.outcomes("client_error"), 2);
        let of = |role, result| [("role", role), ("result", result)];
        assert_eq!(page.count("plimsoll_attempts_total", &of("prefill", "status_4xx")), 2);
        assert_eq!(page.count("plimsoll_attempts_total", &of("decode", "cancelled")), 2);
    })
    .await;
}

#[tokio::test]
async fn decode_refuses_while_prefill_hangs() {
    bounded(async {
        let pair = Pair::start("", |_| silent(), |_| refusal(422)).await;
        let answer = ask(&pair, "").await;
        assert_eq!((answer.status, &*answer.text()), (422, REFUSAL));
        pair.prefill.wait_closed(1).await;
        assert_eq!(pair.router.settled(1).await.outcomes("client_error"), 1);
    })
    .await;
}

/// Decode's stream has a head, but prefill's refusal comes before its first byte.
#[tokio::test]
async fn prefill_refuses_before_decodes_first_byte() {
    bounded(async {
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: \
                    chunked\r\n\r\n";
        let decode = move |_: &_| Reply::new().write(head).then(Step::WaitForClose);
        let pair = Pair::start("", |_| refusal(400), decode).await;
        let answer = ask(&pair, ",\"stream\":true").await;
        assert_eq!((answer.status, &*answer.text()), (400, REFUSAL));
        pair.decode.wait_closed(1).await;
    })
    .await;
}

#[tokio::test]
async fn prefill_dies_before_its_head() {
    bounded(async {
        let pair = Pair::start("", |_| reset(), |_| silent()).await;
        let answer = ask(&pair, ",\"stream\":true").await;
        assert_eq!(answer.status, 502);
        assert_eq!(answer.json()["error"]["code"], "upstream_error");
        let message = answer.error();
        assert!(message.contains("prefill") && message.contains(&pair.prefill.url()), "{message}");
        pair.decode.wait_closed(1).await;
        assert_eq!(pair.router.settled(1).await.outcomes("upstream_error"), 1);
    })
    .await;
}

/// Decode would wait for a KV cache that does not come.
#[tokio::test]
async fn prefill_dies_amid_decodes_stream() {
    bounded(async {
        let stream = stream_of(&text_event("word"));
        let decode = move |_: &_| Reply::new().write(stream.clone()).then(Step::WaitForClose);
        let pair = Pair::start("", |_| reset(), decode).await;
        let answer = ask(&pair, ",\"stream\":true").await;
        assert_eq!(answer.status, 200);
        assert!(answer.text().starts_with(&text_event("word")));
        assert_eq!(last_error(&answer)["code"], "upstream_error");
        pair.decode.wait_closed(1).await;
        let page = pair.router.settled(1).await;
        assert_eq!(page.outcomes("upstream_error"), 1);
        assert_eq!(page.count("plimsoll_partial_completion_tokens_total", &[]), 1);
    })
    .await;
}

#[tokio::test]
async fn decode_refuses_the_connection() {
    bounded(async {
        let pair = Pair::start("", |_| silent(), |_| silent()).await;
        let Pair { router, prefill, decode } = pair;
        let url = decode.url();
        decode.shutdown().await;
        let asked = Instant::now();
        let answer = router.post(CHAT, chat("")).send().await;
        assert!(asked.elapsed() < QUICKLY);
        assert_eq!(answer.status, 502);
        let message = answer.error();
        assert!(message.contains("decode") && message.contains(&url), "{message}");
        let page = router.settled(1).await;
        // Decode may have failed before prefill got anything; what it got is cancelled.
        eventually(async || match (posts(&prefill).len(), prefill.closed().len()) {
            (got, closed) if got == closed => Ok(()),
            seen => Err(format!("{seen:?}")),
        })
        .await;
        let refused = [("role", "decode"), ("result", "connect_error")];
        assert_eq!(page.count("plimsoll_attempts_total", &refused), 1);
    })
    .await;
}

#[tokio::test]
async fn decode_ends_cut_amid_its_stream() {
    bounded(async {
        let (router, _prefill, decode) = sim_pair(SimConfig::default(), "").await;
        decode.faults().push(Fault::once(FaultAction::CutAfterEvents(4)));
        let answer = router.post(CHAT, chat(",\"stream\":true")).send().await;
        assert_eq!(answer.status, 200);
        let error = last_error(&answer);
        assert!(error["message"].as_str().is_some_and(|text| text.contains("decode")), "{error}");
        let page = router.settled(1).await;
        assert_eq!(page.outcomes("upstream_error"), 1);
        // A role event and three words.
        assert_eq!(page.count("plimsoll_partial_completion_tokens_total", &[]), 3);
        assert_eq!(page.count("plimsoll_completion_tokens_total", &[]), 0);
        let next = router.post(CHAT, chat(",\"stream\":true")).send().await;
        assert!(next.text().ends_with("data: [DONE]\n\n"));
    })
    .await;
}

/// A JSON answer that is cut cannot say so in its body: the connection says it.
#[tokio::test]
async fn decode_ends_cut_amid_a_json_answer() {
    bounded(async {
        let cut =
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 90\r\n\r\n{\"a\"";
        let decode = move |_: &_| Reply::new().write(cut).then(Step::Close);
        let pair = Pair::start("", |_| Reply::json(200, "{}"), decode).await;
        let client = pair.router.post(CHAT, chat("")).open().await;
        assert!(client.ends_cut().await);
        assert_eq!(pair.router.settled(1).await.outcomes("upstream_error"), 1);
    })
    .await;
}
