//! Clients that send more than their request, or close one half of the connection: who leaves is
//! noticed all the same, and who stays loses nothing.

use std::time::Duration;

use plimsoll_sim::replay::{ReplayServer, Reply, Step};

use super::{ANSWER, good, statuses, whole};
use crate::support::{
    Exchange, Plimsoll, bounded, eventually, posts, replay, stream_of, text_event,
};

fn silent() -> Reply {
    Reply::new().then(Step::WaitForClose)
}

/// Waits until the engine has got so many requests.
async fn asked(engine: &ReplayServer, count: usize) {
    eventually(async || match posts(engine).len() {
        posts if posts == count => Ok(()),
        posts => Err(format!("{posts} requests")),
    })
    .await;
}

/// What clients send behind their request before they leave.
fn surplus() -> [String; 5] {
    let next = whole("");
    let half = next[..next.len() / 2].to_owned();
    ["\r\n".to_owned(), "x".to_owned(), half, next.clone(), next.repeat(10)]
}

#[tokio::test]
async fn who_sent_too_much_and_left_is_noticed() {
    bounded(async {
        let engine = replay(|_| silent()).await;
        let router = Plimsoll::start(&format!("--worker-urls {}", engine.url())).await;
        let mut left = 0;
        for surplus in surplus() {
            for reset in [false, true] {
                let mut client = Exchange::raw(router.addr, whole("")).await;
                client.push(&surplus).await;
                left += 1;
                asked(&engine, left).await;
                if reset {
                    client.reset()
                } else {
                    drop(client)
                }
                engine.wait_closed(left).await;
            }
        }
        let page = router.settled(left as u64).await;
        assert_eq!(page.outcomes("client_disconnect"), left as u64);
    })
    .await;
}

/// The surplus comes after the engine has begun to answer, and the engine says no more.
#[tokio::test]
async fn who_sends_too_much_amid_a_stream_and_leaves_is_noticed() {
    bounded(async {
        let stream = stream_of(&text_event("word"));
        let reply = move |_: &_| Reply::new().write(stream.clone()).then(Step::WaitForClose);
        let engine = replay(reply).await;
        let router = Plimsoll::start(&format!("--worker-urls {}", engine.url())).await;
        for (index, surplus) in surplus().into_iter().enumerate() {
            let mut client = Exchange::raw(router.addr, whole("")).await;
            client.until("word").await;
            client.push(&surplus).await;
            drop(client);
            engine.wait_closed(index + 1).await;
        }
        assert_eq!(router.settled(5).await.outcomes("client_disconnect"), 5);
    })
    .await;
}

/// What is read while another request runs is still there when its turn comes.
#[tokio::test]
async fn what_comes_ahead_is_not_lost() {
    bounded(async {
        let slow = || Reply::new().then(Step::Wait(Duration::from_millis(100)));
        let engine = replay(move |_| {
            let length = ANSWER.len();
            slow().write(format!("HTTP/1.1 200 OK\r\ncontent-length: {length}\r\n\r\n{ANSWER}"))
        })
        .await;
        let router = Plimsoll::start(&format!("--worker-urls {}", engine.url())).await;
        let mut client = Exchange::raw(router.addr, whole("")).await;
        // Far more than is read ahead, in pieces that end anywhere.
        let pad = format!("x-pad: {}\r\n", "p".repeat(3000));
        let last = whole(&format!("{pad}connection: close\r\n"));
        let rest = format!("\r\n{}{last}", whole(&pad).repeat(6));
        let sent = rest.clone();
        for piece in sent.as_bytes().chunks(977) {
            client.push(piece).await;
            tokio::time::sleep(Duration::from_millis(3)).await;
        }
        let text = client.all().await;
        assert_eq!(statuses(&text), ["200"; 8], "{text}");
        let seen = posts(&engine);
        let padded = seen.iter().filter(|it| it.header("x-pad").map(str::len) == Some(3000));
        assert_eq!((seen.len(), padded.count()), (8, 7));
    })
    .await;
}

/// The end of what a client sends is how it is known that it has left.
#[tokio::test]
async fn who_closes_its_half_has_left() {
    bounded(async {
        let engine = replay(|_| silent()).await;
        let router = Plimsoll::start(&format!("--worker-urls {}", engine.url())).await;
        for (index, behind) in ["", "\r\n"].into_iter().enumerate() {
            let mut client = Exchange::raw(router.addr, whole("") + behind).await;
            asked(&engine, index + 1).await;
            client.half_close().await;
            assert_eq!(client.all().await, "");
            engine.wait_closed(index + 1).await;
        }
        let mut client = Exchange::raw(router.addr, "POST /v1/chat/completions HT").await;
        client.half_close().await;
        assert_eq!(client.all().await, "", "it is no request");
        assert_eq!(router.settled(2).await.outcomes("client_disconnect"), 2);
    })
    .await;
}

/// A client that goes between two requests, or amid the next one, has had its answer.
#[tokio::test]
async fn who_leaves_after_its_answer_had_it() {
    bounded(async {
        let engine = replay(|_| good()).await;
        let router = Plimsoll::start(&format!("--worker-urls {}", engine.url())).await;
        for behind in ["", "\r\n", "POST /v1/chat"] {
            let mut client = Exchange::raw(router.addr, whole("") + behind).await;
            assert_eq!(client.whole().await.status, 200);
        }
        assert_eq!(router.settled(3).await.outcomes("complete"), 3);
    })
    .await;
}
