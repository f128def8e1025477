//! What an engine says of a failure reaches the client whole, whatever was asked.

use plimsoll_sim::{SimConfig, replay::Reply};

use super::{CHAT, QUICK, SOON, raw, silent};
use crate::support::{Pair, Plimsoll, bounded, chat, replay, sim_pair};

/// Far longer than any other body of these tests, and with what looks like the end of a stream.
fn long() -> String {
    let message = "too long, ".repeat(700);
    format!("{{\"error\":{{\"message\":\"{message}data: [DONE]\\n\\n\"}}}}")
}

fn stated() -> Reply {
    Reply::new().then(SOON).write(raw(400, &long()))
}

fn unstated() -> Reply {
    let (text, head) = (long(), "HTTP/1.1 503 No\r\nx-engine: mine\r\n");
    let head = format!("{head}transfer-encoding: chunked\r\n\r\n");
    let mut reply = Reply::new().then(SOON).write(head);
    for part in text.as_bytes().chunks(1000) {
        let part = String::from_utf8_lossy(part);
        reply = reply.write(format!("{:x}\r\n{part}\r\n", part.len()));
    }
    reply.write("0\r\n\r\n")
}

#[tokio::test]
async fn an_error_is_not_cut() {
    bounded(async {
        for (error, status) in [(stated as fn() -> Reply, 400), (unstated, 503)] {
            let of_prefill = Pair::start(QUICK, move |_| error(), |_| silent()).await;
            let of_decode = Pair::start(QUICK, |_| silent(), move |_| error()).await;
            let engine = replay(move |_| error()).await;
            let plain = Plimsoll::start(&format!("--worker-urls {} {QUICK}", engine.url())).await;
            for router in [&of_prefill.router, &of_decode.router, &plain] {
                for more in ["", ",\"stream\":true"] {
                    let answer = router.post(CHAT, chat(more)).send().await;
                    assert_eq!((answer.status, answer.complete), (status, true));
                    assert!(answer.text() == long(), "{}", answer.text());
                    assert_eq!(answer.header("x-engine"), Some("mine"));
                }
                router.settled(2).await;
            }
        }
    })
    .await;
}

/// A list of texts is as good a request as one.
#[tokio::test]
async fn a_batch_of_texts_is_served() {
    bounded(async {
        let (router, prefill, decode) = sim_pair(SimConfig::default(), "").await;
        let body = r#"{"text":["one two","three"],"sampling_params":{"max_new_tokens":3,"temperature":0.7}}"#;
        let answer = router.post("/generate", body).send().await;
        assert_eq!(answer.status, 200, "{}", answer.text());
        assert_eq!(answer.json().as_array().map(Vec::len), Some(2));
        for engine in [&prefill, &decode] {
            let seen = engine.requests().pop().expect("a request").body;
            let rest = &body[1..];
            assert!(String::from_utf8_lossy(&seen).ends_with(rest), "{seen:?}");
            engine.wait_for(|totals| totals.finished == 1).await;
        }
        let page = router.settled(1).await;
        assert_eq!(page.count("plimsoll_completion_tokens_total", &[]), 6);
    })
    .await;
}
