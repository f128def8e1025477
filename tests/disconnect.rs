//! A client that leaves is one `client_disconnect`, and both engines are rid of its request at
//! once, whenever it leaves.

use std::{future::pending, time::Duration};

use futures_util::{StreamExt, stream};
use plimsoll_sim::{
    SimConfig,
    replay::{Reply, Step},
};
use tokio::time::{Instant, sleep};

use crate::support::{
    Page, Pair, Plimsoll, bounded, chat, eventually, posts, replay, sim_pair, stream_of, text_event,
};

const CHAT: &str = "/v1/chat/completions";

/// How often each moment is tried; the median of the times is judged.
const TRIES: usize = 9;

/// What the issue asks for.
const AT_ONCE: Duration = Duration::from_millis(100);

/// What even an overloaded machine must keep to.
const AT_ALL: Duration = Duration::from_secs(2);

/// An engine that says nothing.
fn silent() -> Reply {
    Reply::new().then(Step::WaitForClose)
}

/// An engine amid a stream.
fn streaming() -> Reply {
    Reply::new().write(stream_of(&text_event("word"))).then(Step::WaitForClose)
}

/// An engine amid a JSON answer.
fn writing() -> Reply {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 90\r\n\r\n";
    Reply::new().write(format!("{head}{{\"word\":")).then(Step::WaitForClose)
}

/// Clients of a pair that leave as soon as they have read `seen`; gives the page afterwards.
async fn leave(prefill: fn() -> Reply, decode: fn() -> Reply, more: &str, seen: &str) -> Page {
    let pair = Pair::start("", move |_| prefill(), move |_| decode()).await;
    let mut times = Vec::new();
    for tries in 1..=TRIES {
        let mut client = pair.router.post(CHAT, chat(more)).open().await;
        pair.legs(tries).await;
        if !seen.is_empty() {
            client.until(seen).await;
        }
        let left = Instant::now();
        drop(client);
        for server in [&pair.prefill, &pair.decode] {
            server.wait_closed(tries).await;
            times.push(server.closed()[tries - 1].at - left);
        }
    }
    judge(times);
    let page = pair.router.settled(TRIES as u64).await;
    for role in ["prefill", "decode"] {
        let cancelled = [("role", role), ("result", "cancelled")];
        assert_eq!(page.count("plimsoll_attempts_total", &cancelled), TRIES as u64, "{page}");
    }
    page
}

#[track_caller]
fn judge(mut times: Vec<Duration>) {
    times.sort_unstable();
    println!("closed after {times:?}");
    assert!(times[times.len() / 2] < AT_ONCE, "{times:?}");
    assert!(times[times.len() - 1] < AT_ALL, "{times:?}");
}

/// Every request is one disconnect, said with this status.
#[track_caller]
fn assert_left(page: &Page, stream: &str, code: &str) {
    let labels = [("outcome", "client_disconnect"), ("stream", stream), ("code", code)];
    assert_eq!(page.count("plimsoll_requests_total", &labels), TRIES as u64, "{page}");
    let partial = [("completeness", "partial"), ("stream", stream)];
    assert_eq!(page.count("plimsoll_usage_total", &partial), TRIES as u64, "{page}");
    assert_eq!(page.count("plimsoll_completion_tokens_total", &[]), 0, "{page}");
}

#[tokio::test]
async fn before_the_head_of_a_stream() {
    bounded(async {
        let page = leave(silent, silent, ",\"stream\":true", "").await;
        assert_left(&page, "true", "0");
    })
    .await;
}

#[tokio::test]
async fn before_the_head_of_a_json_answer() {
    bounded(async {
        let page = leave(silent, silent, "", "").await;
        assert_left(&page, "false", "0");
        assert_eq!(page.count("plimsoll_partial_completion_tokens_total", &[]), 0);
    })
    .await;
}

#[tokio::test]
async fn amid_a_stream() {
    bounded(async {
        let page = leave(streaming, streaming, ",\"stream\":true", "word").await;
        assert_left(&page, "true", "200");
        assert_eq!(page.count("plimsoll_partial_completion_tokens_total", &[]), TRIES as u64);
        assert_eq!(page.count("plimsoll_time_to_first_token_seconds_count", &[]), TRIES as u64);
    })
    .await;
}

/// Decode streams while prefill has not even answered.
#[tokio::test]
async fn amid_a_stream_before_prefills_head() {
    bounded(async {
        let page = leave(silent, streaming, ",\"stream\":true", "word").await;
        assert_left(&page, "true", "200");
    })
    .await;
}

#[tokio::test]
async fn amid_a_json_answer() {
    bounded(async {
        let page = leave(streaming, writing, "", "{\"word\":").await;
        assert_left(&page, "false", "200");
    })
    .await;
}

#[tokio::test]
async fn of_a_plain_worker() {
    bounded(async {
        let mut times = Vec::new();
        for (reply, seen) in [(silent as fn() -> Reply, ""), (streaming, "word"), (writing, "word")]
        {
            let engine = replay(move |_| reply()).await;
            let router = Plimsoll::start(&format!("--worker-urls {}", engine.url())).await;
            let mut client = router.post(CHAT, chat("")).open().await;
            if seen.is_empty() {
                eventually(async || {
                    let posts = posts(&engine).len();
                    if posts == 1 { Ok(()) } else { Err(format!("{posts} requests")) }
                })
                .await;
            } else {
                client.until(seen).await;
            }
            let left = Instant::now();
            drop(client);
            engine.wait_closed(1).await;
            times.push(engine.closed()[0].at - left);
            assert_eq!(router.settled(1).await.outcomes("client_disconnect"), 1);
        }
        judge(times);
    })
    .await;
}

/// Gone before the router has looked at the request, which it has got all the same.
#[tokio::test]
async fn right_after_asking() {
    bounded(async {
        let engine = replay(|_| silent()).await;
        let router = Plimsoll::start(&format!("--worker-urls {}", engine.url())).await;
        for index in 0..100 {
            let stream = index % 2 == 0;
            drop(router.post(CHAT, chat(&format!(",\"stream\":{stream}"))).open().await);
        }
        let page = router.settled(100).await;
        let labels = [("outcome", "client_disconnect"), ("code", "0"), ("endpoint", "chat")];
        assert_eq!(page.count("plimsoll_requests_total", &labels), 100, "{page}");
    })
    .await;
}

/// One client: asks for a stream or not, and leaves after `stay`, whatever came, or not at all.
async fn visit(router: &Plimsoll, stream: bool, stay: Option<Duration>) {
    let more = if stream { ",\"stream\":true,\"max_tokens\":40" } else { ",\"max_tokens\":40" };
    let client = router.post(CHAT, chat(more)).open().await;
    let leaving = async {
        match stay {
            Some(stay) => sleep(stay).await,
            None => pending().await,
        }
    };
    tokio::select! {
        answer = client.rest() => assert_eq!(answer.status, 200),
        () = leaving => {}
    }
}

#[tokio::test]
async fn five_hundred_at_random_moments() {
    bounded(async {
        let config = SimConfig {
            time_to_first_token: Duration::from_millis(20),
            token_interval: Duration::from_millis(3),
            ..SimConfig::default()
        };
        let (router, prefill, decode) = sim_pair(config, "").await;
        let mut random = fastrand::Rng::with_seed(2);
        let visits: Vec<_> = (0..500)
            .map(|_| {
                let stay = Duration::from_micros(random.u64(..400_000));
                visit(&router, random.bool(), random.bool().then_some(stay))
            })
            .collect();
        stream::iter(visits).buffer_unordered(64).collect::<Vec<()>>().await;
        let page = router.settled(500).await;
        let (left, whole) = (page.outcomes("client_disconnect"), page.outcomes("complete"));
        println!("{left} left, {whole} stayed");
        assert!(left > 50 && whole > 50 && left + whole == 500, "{page}");
        assert_eq!(page.count("plimsoll_usage_total", &[("completeness", "partial")]), left);
        assert_eq!(page.count("plimsoll_completion_tokens_total", &[]), 40 * whole);
        for engine in [&prefill, &decode] {
            engine.wait_for(|totals| totals.open == 0).await;
            assert_eq!(engine.used_tokens(), 0);
        }
        assert_eq!(decode.totals().requests, decode.totals().finished + decode.totals().aborted);
    })
    .await;
}

/// A client that leaves with its body half sent was never answered.
#[tokio::test]
async fn while_sending() {
    bounded(async {
        let pair = Pair::start("", |_| silent(), |_| silent()).await;
        for path in [CHAT, "/generate"] {
            drop(pair.router.post(path, "").withheld(100).open().await);
        }
        let page = pair.router.settled(2).await;
        let left = [("outcome", "client_disconnect"), ("code", "0")];
        assert_eq!(page.count("plimsoll_requests_total", &left), 2, "{page}");
        assert_eq!((posts(&pair.prefill).len(), posts(&pair.decode).len()), (0, 0));
    })
    .await;
}
