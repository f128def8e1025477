//! Heads that engines send and that must not reach a client as they are.

use plimsoll_sim::replay::{Reply, Step};

use super::{ANSWER, CHAT};
use crate::support::{Answer, Plimsoll, bounded, chat, chunk, replay};

/// What the client gets of these bytes, after which the engine keeps the connection open, and the
/// router's page then.
async fn answered(bytes: String, then: Option<Step>) -> (Answer, Plimsoll) {
    let reply = move |_: &_| {
        let reply = Reply::new().write(bytes.clone());
        then.iter().fold(reply, |reply, step| reply.then(step.clone()))
    };
    let engine = replay(reply).await;
    let router =
        Plimsoll::start(&format!("--worker-urls {} --disable-retries", engine.url())).await;
    (router.post(CHAT, chat("")).send().await, router)
}

fn chunked(more: &str, end: &str) -> String {
    let head = "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked";
    format!("{head}{more}\r\n\r\n{}0\r\n{end}\r\n", chunk(ANSWER))
}

#[tokio::test]
async fn a_length_beside_chunks_is_none() {
    bounded(async {
        for length in [5, 1000] {
            let (answer, _) =
                answered(chunked(&format!("\r\ncontent-length: {length}"), ""), None).await;
            assert!(answer.status == 200 && answer.complete, "{length}");
            assert_eq!((answer.text().as_str(), answer.header("content-length")), (ANSWER, None));
        }
    })
    .await;
}

#[tokio::test]
async fn trailers_end_an_answer_that_counts() {
    bounded(async {
        let (answer, router) = answered(chunked("", "x-sum: 1\r\n"), None).await;
        assert!(answer.complete, "{}", answer.text());
        let page = router.page_when(|page| page.outcomes("complete") == 1).await;
        assert_eq!(page.count("plimsoll_completion_tokens_total", &[]), 2);
        assert_eq!(page.count("plimsoll_attempts_total", &[("result", "ok")]), 1);
        assert_eq!(page.count("plimsoll_attempts_total", &[("result", "cancelled")]), 0);
    })
    .await;
}

#[tokio::test]
async fn an_old_version_is_the_workers_own() {
    bounded(async {
        let head = "HTTP/1.0 200 OK\r\ncontent-type: application/json";
        let (answer, router) = answered(format!("{head}\r\n\r\n{ANSWER}"), Some(Step::Close)).await;
        assert_eq!((answer.status, answer.text().as_str()), (200, ANSWER));
        assert_eq!(answer.header("transfer-encoding"), Some("chunked"));
        router.page_when(|page| page.outcomes("complete") == 1).await;
    })
    .await;
}

#[tokio::test]
async fn nobody_asked_for_another_protocol() {
    bounded(async {
        let head =
            "HTTP/1.1 101 Switching Protocols\r\nupgrade: foo\r\nconnection: upgrade\r\n\r\n";
        let (answer, router) = answered(head.to_owned(), Some(Step::WaitForClose)).await;
        assert_eq!(answer.status, 502, "{}", answer.text());
        assert!(answer.error().contains("101"), "{}", answer.error());
        router.page_when(|page| page.outcomes("upstream_error") == 1).await;
    })
    .await;
}
