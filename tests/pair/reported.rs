//! A prefill worker that fails within an answer of 200 fails the request too: at once, and blamed.

use plimsoll_sim::replay::{Reply, Step};

use super::CHAT;
use crate::support::{Pair, bounded, chat, stream_of};

fn silent() -> Reply {
    Reply::new().then(Step::WaitForClose)
}

/// The head of a JSON answer, and nothing behind it.
fn head_only() -> Reply {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 90\r\n\r\n";
    Reply::new().write(head).then(Step::WaitForClose)
}

#[tokio::test]
async fn an_error_in_its_answer() {
    bounded(async {
        let native = r#"{"text":"","meta_info":{"finish_reason":{"type":"abort"}}}"#;
        let cut = "data: {\"error\":{\"message\":\"no room\"}}";
        for (path, reply, said) in [
            (CHAT, Reply::json(200, r#"{"error":{"message":"no room"}}"#), "an error: no room"),
            ("/generate", Reply::json(200, native), "an error"),
            (CHAT, Reply::new().write(stream_of(cut)).write("0\r\n\r\n"), "an error: no room"),
        ] {
            let pair = Pair::start("", move |_| reply.clone(), |_| silent()).await;
            let answer = pair.router.post(path, chat("")).send().await;
            assert_eq!(answer.status, 502, "{}", answer.text());
            assert!(answer.error().contains("the prefill worker"), "{}", answer.error());
            assert!(answer.error().ends_with(said), "{}", answer.error());
            pair.router.logged(said).await;
            pair.decode.wait_closed(1).await;
            let page = pair.router.settled(1).await;
            assert_eq!(page.outcomes("upstream_error"), 1);
            let blamed = [("role", "prefill"), ("result", "status_5xx")];
            assert_eq!(page.count("plimsoll_attempts_total", &blamed), 1);
        }
    })
    .await;
}

/// Decode's head alone is no answer: prefill's status still is.
#[tokio::test]
async fn a_status_behind_decodes_head() {
    bounded(async {
        let soon = Step::Wait(std::time::Duration::from_millis(100));
        let prefill = move |_: &_| {
            let body = "HTTP/1.1 503 No\r\ncontent-length: 4\r\n\r\nfull";
            Reply::new().then(soon.clone()).write(body)
        };
        let pair = Pair::start("", prefill, |_| head_only()).await;
        let answer = pair.router.post(CHAT, chat("")).send().await;
        assert_eq!((answer.status, &*answer.text()), (503, "full"));
        pair.decode.wait_closed(1).await;
    })
    .await;
}
