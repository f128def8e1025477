//! Prefill's reply may end after decode's last byte: it is waited for, holds nothing back, and a
//! client that has its whole answer and closes does not cancel it.

use std::time::Duration;

use plimsoll_sim::replay::{Reply, Step};
use tokio::time::Instant;

use super::CHAT;
use crate::support::{Exchange, Log, Pair, bounded, chat, stream_of, text_event};

/// How long after decode's end prefill ends.
const LATE: Duration = Duration::from_millis(700);

const USAGE: &str = r#""usage":{"prompt_tokens":90,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":90}}"#;

/// Prefill's reply: all but its last bytes, and these later.
fn late() -> Reply {
    let body = r#"{"usage":{"prompt_tokens":90,"completion_tokens":1,"prompt_tokens_details":{"cached_tokens":64}}}"#;
    let (now, later) = body.split_at(body.len() - 3);
    let head = format!(
        "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{now}",
        body.len()
    );
    Reply::new().write(head).then(Step::Wait(LATE)).write(later)
}

/// Asks on a connection that stays open, reads exactly the whole answer, and leaves with it.
async fn whole_answer(pair: &Pair, more: &str) {
    let call = pair.router.post(CHAT, chat(more)).header("connection", "keep-alive");
    let asked = Instant::now();
    let mut client: Exchange = call.open().await;
    let answer = client.whole().await;
    assert_eq!(answer.status, 200);
    assert!(asked.elapsed() < LATE, "the answer was held back {:?}", asked.elapsed());
}

/// The cached count is prefill's, and prefill was left to end by itself.
async fn assert_known(pair: &Pair, requests: u64) {
    let page = pair.router.settled(requests).await;
    assert_eq!(page.outcomes("complete"), requests, "{page}");
    assert_eq!(page.count("plimsoll_cached_prompt_tokens_total", &[]), 64 * requests);
    assert_eq!(page.count("plimsoll_cache_reported_prompt_tokens_total", &[]), 90 * requests);
    assert_eq!(page.count("plimsoll_prompt_tokens_total", &[]), 90 * requests);
    assert_eq!(page.count("plimsoll_completion_tokens_total", &[]), 2 * requests);
    let ok = [("role", "prefill"), ("result", "ok")];
    assert_eq!(page.count("plimsoll_attempts_total", &ok), requests);
    assert_eq!(pair.prefill.closed(), []);
}

#[tokio::test]
async fn after_a_json_answer() {
    bounded(async {
        let answer = || Reply::json(200, &format!("{{\"choices\":[],{USAGE}}}"));
        let pair = Pair::start("", |_| late(), move |_| answer()).await;
        whole_answer(&pair, "").await;
        whole_answer(&pair, "").await;
        assert_known(&pair, 2).await;
    })
    .await;
}

#[tokio::test]
async fn after_a_stream() {
    bounded(async {
        let events =
            format!("{}data: {{\"choices\":[],{USAGE}}}\n\ndata: [DONE]\n\n", text_event("a"));
        let decode = move |_: &_| Reply::new().write(stream_of(&events)).write("0\r\n\r\n");
        let pair = Pair::start("", |_| late(), decode).await;
        whole_answer(&pair, ",\"stream\":true").await;
        whole_answer(&pair, ",\"stream\":true,\"stream_options\":{\"include_usage\":true}").await;
        assert_known(&pair, 2).await;
    })
    .await;
}

/// The end of the process waits for it too, and the request's line has what it says.
#[tokio::test]
async fn as_the_process_ends() {
    bounded(async {
        let (log, answer) =
            (Log::new(), || Reply::json(200, &format!("{{\"choices\":[],{USAGE}}}")));
        let mut pair = Pair::start(&log.flag(), |_| late(), move |_| answer()).await;
        whole_answer(&pair, "").await;
        pair.router.signal("TERM").await;
        assert_eq!(pair.router.ended().await.code(), Some(0));
        let [line] = <[_; 1]>::try_from(log.lines()).expect("one line");
        assert_eq!(line["usage"]["cached"].as_u64(), Some(64), "{line}");
    })
    .await;
}

/// Two seconds at most: then the request is accounted for without the cached count.
#[tokio::test]
async fn a_prefill_that_never_ends_is_given_up() {
    bounded(async {
        let hanging = |_: &_| {
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 9\r\n\r\n{";
            Reply::new().write(head).then(Step::WaitForClose)
        };
        let decode = |_: &_| Reply::json(200, &format!("{{\"choices\":[],{USAGE}}}"));
        let pair = Pair::start("", hanging, decode).await;
        whole_answer(&pair, "").await;
        let answered = Instant::now();
        pair.prefill.wait_closed(1).await;
        let waited = answered.elapsed();
        assert!((1.5..4.0).contains(&waited.as_secs_f64()), "{waited:?}");
        let page = pair.router.settled(1).await;
        assert_eq!(page.count("plimsoll_prompt_tokens_total", &[]), 90);
        assert_eq!(page.count("plimsoll_cache_reported_prompt_tokens_total", &[]), 0);
    })
    .await;
}
