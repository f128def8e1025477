//! HTTP/2 used against its server: many streams, streams begun only to be given up, heads without
//! end.

use std::{convert::Infallible, time::Duration};

use bytes::Bytes;
use futures_util::{StreamExt, stream};
use http::Request;
use http_body_util::{BodyExt, StreamBody};
use hyper::{body::Frame, client::conn::http2};
use hyper_util::rt::{TokioExecutor, TokioIo};
use tokio::{net::TcpStream, time::Instant};

use super::{
    CHAT, assert_well,
    frames::{ENHANCE_YOUR_CALM, Frames, REFUSED_STREAM, field},
    served,
};
use crate::support::{bounded, chat, posts};

const MAX_CONCURRENT_STREAMS: u16 = 3;
const MAX_HEADER_LIST_SIZE: u16 = 6;

#[tokio::test]
async fn streams_beyond_the_limit_are_refused() {
    bounded(async {
        let (router, engine) = served("").await;
        let mut client = Frames::open(router.addr).await;
        let settings = client.until(|frame| frame.setting(MAX_CONCURRENT_STREAMS).is_some()).await;
        assert_eq!(settings.setting(MAX_CONCURRENT_STREAMS), Some(200));
        assert_eq!(settings.setting(MAX_HEADER_LIST_SIZE), Some(64 << 10));
        for number in 0..201 {
            assert!(client.ask(2 * number + 1, CHAT, false).await);
        }
        let refused = client.until(|frame| frame.reset().is_some()).await;
        assert_eq!((refused.stream, refused.reset()), (401, Some(REFUSED_STREAM)));
        // One that ends makes room.
        client.reset(1).await;
        client.ask(403, "/health", true).await;
        client.until(|frame| frame.is_end_of(403)).await;
        drop(client);
        assert_eq!(posts(&engine).len(), 0);
        assert_eq!(router.settled(200).await.outcomes("client_disconnect"), 200);
    })
    .await;
}

/// CVE-2023-44487: each stream is begun and given up, so that none counts.
#[tokio::test]
async fn rapid_resets_end_the_connection() {
    bounded(async {
        let (router, engine) = served("").await;
        let before = router.resident();
        let mut client = Frames::open(router.addr).await;
        let mut taken = 0;
        while taken < 100_000 {
            let stream = 2 * taken + 1;
            if !client.ask(stream, CHAT, false).await || !client.reset(stream).await {
                break;
            }
            taken += 1;
        }
        println!("{taken} were taken by the socket");
        assert!(taken < 100_000, "it goes on");
        let last = client.find(|frame| frame.go_away().is_some()).await;
        if let Some(last) = last {
            assert_eq!(last.go_away(), Some(ENHANCE_YOUR_CALM));
        }
        assert_eq!(posts(&engine).len(), 0);
        assert_well(&router, before, 32 << 20).await;
        let page =
            router.page_when(|page| page.count("plimsoll_requests_in_flight", &[]) == 0).await;
        assert_eq!(page.count("plimsoll_worker_in_flight", &[]), 0);
    })
    .await;
}

#[tokio::test]
async fn heads_have_a_limit() {
    bounded(async {
        let (router, engine) = served("").await;
        let before = router.resident();
        // One that ends: too large for the list, but not for the connection.
        let mut client = Frames::open(router.addr).await;
        client.begin(1, CHAT).await;
        let long = field("x-a", &"v".repeat(16_000));
        for number in 0..5 {
            client.go_on(1, &long, number == 4).await;
        }
        let head = client.until(|frame| frame.is_head_of(1)).await;
        // 431, compressed.
        assert!(head.holds(&[0x69, 0x90, 0xff]), "{head:?}");
        client.ask(3, "/health", true).await;
        client.until(|frame| frame.is_end_of(3)).await;
        // One that does not, of full frames and of empty ones.
        for more in [&long[..], &[]] {
            let mut client = Frames::open(router.addr).await;
            client.begin(1, CHAT).await;
            let mut taken = 0;
            while taken < 100_000 && client.go_on(1, more, false).await {
                taken += 1;
            }
            println!("{taken} were taken by the socket");
            assert!(taken < 100_000, "it goes on");
        }
        assert_eq!(posts(&engine).len(), 0);
        assert_well(&router, before, 32 << 20).await;
    })
    .await;
}

/// Of a connection only the stream that stalls is told, and the others go on.
#[tokio::test]
async fn a_body_that_stalls_is_a_408() {
    bounded(async {
        let (router, engine) = served("--request-timeout-secs 1").await;
        let socket = TcpStream::connect(router.addr).await.expect("it listens");
        let handshake = http2::handshake(TokioExecutor::new(), TokioIo::new(socket));
        let (mut client, connection) = handshake.await.expect("HTTP/2");
        tokio::spawn(connection);
        let mut ask = |pieces: Vec<String>, ends: bool| {
            let pieces = pieces.into_iter().map(|piece| Ok(Frame::data(Bytes::from(piece))));
            let pieces: Vec<Result<_, Infallible>> = pieces.collect();
            let rest = if ends { stream::empty().boxed() } else { stream::pending().boxed() };
            let body = BodyExt::boxed_unsync(StreamBody::new(stream::iter(pieces).chain(rest)));
            let request = Request::post(format!("http://{}{CHAT}", router.addr)).body(body);
            client.send_request(request.expect("a request"))
        };
        let asked = Instant::now();
        let stalled = ask(vec!["{\"model\":".to_owned()], false);
        let whole = ask(vec![chat("")], true);
        assert_eq!(whole.await.expect("an answer").status(), 200);
        assert_eq!(stalled.await.expect("an answer").status(), 408);
        let waited = asked.elapsed();
        assert!(waited > Duration::from_millis(900), "{waited:?}");
        let whole = ask(vec![chat("")], true);
        assert_eq!(whole.await.expect("an answer").status(), 200);
        assert_eq!(posts(&engine).len(), 2);
    })
    .await;
}
