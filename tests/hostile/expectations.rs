//! `Expect: 100-continue`, and requests one after another without waiting.

use plimsoll_sim::replay::Reply;

use super::{BODY, POST, good, served, statuses, whole};
use crate::support::{Exchange, Plimsoll, bounded, posts, replay};

#[tokio::test]
async fn who_waits_to_be_asked_is_asked() {
    bounded(async {
        let (router, engine) = served("").await;
        let head = "expect: 100-continue\r\nconnection: close\r\ncontent-length: 13\r\n\r\n";
        let mut client = Exchange::raw(router.addr, format!("{POST}{head}")).await;
        client.until("HTTP/1.1 100 Continue\r\n\r\n").await;
        assert_eq!(posts(&engine).len(), 0, "not before its body is there");
        client.push(BODY).await;
        let text = client.all().await;
        assert_eq!(statuses(&text), ["100", "200"], "{text}");
        assert_eq!(
            (&posts(&engine)[0].body[..], posts(&engine)[0].header("expect")),
            (BODY.as_bytes(), None)
        );
    })
    .await;
}

/// A body that is not wanted is not asked for, and where it would be is no next request.
#[tokio::test]
async fn who_is_refused_is_not_asked() {
    bounded(async {
        let (router, engine) = served("--max-payload-size 1000 --api-key k1").await;
        let expects = "expect: 100-continue\r\n";
        let key = "authorization: Bearer k1\r\n";
        for (head, status) in [
            (
                format!("POST /nowhere HTTP/1.1\r\nhost: router\r\n{key}content-length: 13\r\n"),
                "404",
            ),
            (format!("{POST}{key}content-length: 1001\r\n"), "413"),
            (format!("{POST}content-length: 13\r\n"), "401"),
        ] {
            let text = Exchange::raw(router.addr, format!("{head}{expects}\r\n")).await.all().await;
            assert_eq!(statuses(&text), [status], "{text}");
        }
        assert_eq!(posts(&engine).len(), 0);
    })
    .await;
}

/// Requests that do not wait for answers get them one after the other, in order.
#[tokio::test]
async fn pipelined_requests_are_answered_in_order() {
    bounded(async {
        let engine = replay(|_| good()).await;
        let line = format!("--worker-urls {} --worker-max-in-flight 1", engine.url());
        let router = Plimsoll::start(&line).await;
        let ask = |number: usize| whole(&format!("x-request-id: r-{number}\r\n"));
        let requests: String = (0..20).map(ask).collect();
        let last = whole("x-request-id: r-20\r\nconnection: close\r\n");
        // What is behind the last one is none.
        let all = format!("{requests}{last}{}", ask(21));
        let text = Exchange::raw(router.addr, all).await.all().await;
        assert_eq!(statuses(&text), ["200"; 21], "{text}");
        let ids: Vec<_> = text.split("x-request-id: ").skip(1).collect();
        for (number, rest) in ids.iter().enumerate() {
            assert!(rest.starts_with(&format!("r-{number}\r\n")), "{text}");
        }
        assert_eq!((posts(&engine).len(), router.settled(21).await.outcomes("complete")), (21, 21));
    })
    .await;
}

/// One that cannot be read ends the connection; the ones before it are answered.
#[tokio::test]
async fn a_bad_one_among_pipelined_requests_is_the_last() {
    bounded(async {
        let engine = replay(|_| Reply::json(200, "{}")).await;
        let router = Plimsoll::start(&format!("--worker-urls {}", engine.url())).await;
        let (good, bad) = (whole(""), format!("{POST}content-length: x\r\n\r\n"));
        let text = Exchange::raw(router.addr, format!("{good}{bad}{good}")).await.all().await;
        assert_eq!(statuses(&text), ["200", "400"], "{text}");
        assert_eq!(posts(&engine).len(), 1);
    })
    .await;
}
