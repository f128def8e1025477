//! `--sse-keepalive-secs`: a silent stream says `: ping` between its events, and is for all the rest
//! what it would be without.

mod accounts;
mod failures;

use std::time::Duration;

use futures_util::future::join_all;
use plimsoll_sim::{
    SimConfig,
    replay::{Reply, Step},
};
use tokio::time::Instant;

use crate::support::{
    Answer, Pair, Plimsoll, bounded, chat, chunk, common, replay, sim_pair, stream_of, text_event,
};

const CHAT: &str = "/v1/chat/completions";

const FLAG: &str = "--sse-keepalive-secs 1";
const PING: &str = ": ping\n\n";
const DONE: &str = "data: [DONE]\n\n";

/// Long enough for one ping.
const PAUSE: Step = Step::Wait(Duration::from_millis(1500));

/// Long enough for two.
const LONG_PAUSE: Step = Step::Wait(Duration::from_millis(2500));

fn streamed() -> String {
    chat(",\"stream\":true,\"max_tokens\":6")
}

/// Prefill's reply, of which nothing is expected here.
fn prefilled() -> Reply {
    Reply::json(200, "{}")
}

/// An answer of JSON.
fn json(status: u16, body: &str) -> Step {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} Status\r\ncontent-type: application/json\r\ncontent-length: {length}"
    );
    Step::Write(format!("{head}\r\n\r\n{body}").into())
}

/// A stream of these pieces, with a pause between each two.
fn paused(pieces: &[&str], pause: &Step) -> Reply {
    let (first, rest) = pieces.split_first().expect("a piece");
    let begun = Reply::new().write(stream_of(first));
    let reply =
        rest.iter().fold(begun, |reply, piece| reply.then(pause.clone()).write(chunk(piece)));
    reply.write(chunk(""))
}

/// The stream without its pings, of which there are some; each stands between two whole events.
#[track_caller]
fn without_pings(answer: &Answer) -> String {
    let text = answer.text();
    assert!(answer.complete && text.contains(PING), "{text}");
    let mut whole = String::new();
    for piece in text.split(PING) {
        whole.push_str(piece);
        let ends = whole.is_empty() || whole.ends_with("\n\n") || whole.ends_with("\r\n\r\n");
        assert!(ends, "a ping within an event: {text}");
    }
    whole
}

/// What a stream of one worker becomes, with pings on.
async fn relayed(reply: Reply) -> Answer {
    let engine = replay(move |_| reply.clone()).await;
    let router = Plimsoll::start(&format!("--worker-urls {} {FLAG}", engine.url())).await;
    router.post(CHAT, streamed()).send().await
}

/// Asks, and waits for the head of the answer; says how long that took.
async fn timed(router: &Plimsoll) -> (Duration, Answer) {
    let asked = Instant::now();
    let mut client = router.post(CHAT, streamed()).open().await;
    client.until("\r\n\r\n").await;
    (asked.elapsed(), client.rest().await)
}

#[track_caller]
fn assert_early(head: Duration, answer: &Answer) {
    assert!((900..2500).contains(&head.as_millis()), "the head came after {head:?}");
    assert_eq!(answer.status, 200);
    let kind = answer.header("content-type").expect("a type");
    assert!(kind.starts_with("text/event-stream"), "{kind}");
}

#[tokio::test]
async fn a_long_prefill_is_waited_for_with_a_head() {
    bounded(async {
        let slow =
            SimConfig { time_to_first_token: Duration::from_secs(3), ..SimConfig::default() };
        let (quick, _prefill, _decode) = sim_pair(SimConfig::default(), "").await;
        let want = quick.post(CHAT, streamed()).send().await.text();
        let (router, _prefill, _decode) = sim_pair(slow, FLAG).await;
        let (head, answer) = timed(&router).await;
        assert_early(head, &answer);
        assert!(answer.text().starts_with(&PING.repeat(2)), "{}", answer.text());
        assert_eq!(common(&without_pings(&answer)), common(&want));
        assert_eq!(router.settled(1).await.outcomes("complete"), 1);
    })
    .await;
}

#[tokio::test]
async fn an_engine_without_a_head_is_waited_for_with_one() {
    bounded(async {
        let events = text_event("a") + &text_event("b") + DONE;
        let stream = stream_of(&events) + &chunk("");
        let decode = move |_: &_| {
            Reply::new().then(Step::Wait(Duration::from_secs(3))).write(stream.clone())
        };
        let pair = Pair::start(FLAG, |_| prefilled(), decode).await;
        let (head, answer) = timed(&pair.router).await;
        assert_early(head, &answer);
        assert_eq!(without_pings(&answer), events);
    })
    .await;
}

/// Wherever an event is interrupted, nothing is said within it.
#[tokio::test]
async fn pings_stand_between_events() {
    bounded(async {
        let (lf, next) = (text_event("a"), text_event("b") + DONE);
        let crlf = lf.replace('\n', "\r\n");
        let amid = lf.len() / 2;
        let cuts = [
            (&lf, amid),
            (&lf, lf.len() - 2),
            (&lf, lf.len() - 1),
            (&crlf, amid),
            (&crlf, crlf.len() - 3),
            (&crlf, crlf.len() - 2),
            (&crlf, crlf.len() - 1),
        ];
        join_all(cuts.map(async |(event, at)| {
            let interrupted = [&event[..at], &event[at..]];
            let within = relayed(paused(&interrupted, &LONG_PAUSE)).await;
            assert!(within.complete);
            assert_eq!(within.text(), *event, "cut at {at}");
            let between = [&event[..at], &event[at..], &next];
            let answer = relayed(paused(&between, &PAUSE)).await;
            assert_eq!(without_pings(&answer), format!("{event}{next}"), "cut at {at}");
            assert!(answer.text().starts_with(&**event), "{}", answer.text());
        }))
        .await;
    })
    .await;
}

#[tokio::test]
async fn without_the_flag_or_a_stream_there_is_none() {
    bounded(async {
        let events = [&*text_event("a"), DONE];
        let reply = paused(&events, &LONG_PAUSE);
        let engine = replay(move |_| reply.clone()).await;
        let router = Plimsoll::start(&format!("--worker-urls {}", engine.url())).await;
        assert_eq!(router.post(CHAT, streamed()).send().await.text(), events.concat());

        let engine = replay(|_| [LONG_PAUSE, json(200, "{\"a\":1}")].into_iter().collect()).await;
        let router = Plimsoll::start(&format!("--worker-urls {} {FLAG}", engine.url())).await;
        let answer = router.post(CHAT, chat("")).send().await;
        assert_eq!((answer.status, &*answer.text()), (200, "{\"a\":1}"));
    })
    .await;
}

#[tokio::test]
async fn a_client_that_leaves_amid_pings_frees_both_engines() {
    bounded(async {
        let silent = |_: &_| Reply::new().then(Step::WaitForClose);
        let pair = Pair::start(FLAG, silent, silent).await;
        let mut client = pair.router.post(CHAT, streamed()).open().await;
        client.until(PING).await;
        drop(client);
        pair.prefill.wait_closed(1).await;
        pair.decode.wait_closed(1).await;
        let page = pair.router.settled(1).await;
        let left = [("outcome", "client_disconnect"), ("code", "200")];
        assert_eq!(page.count("plimsoll_requests_total", &left), 1, "{page}");
    })
    .await;
}
