//! Clients that speak HTTP/2: many requests on one connection.

use std::time::Duration;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http2;
use hyper_util::rt::{TokioExecutor, TokioIo};
use plimsoll_sim::SimConfig;
use tokio::net::TcpStream;

use crate::support::{Plimsoll, bounded, chat, sim};

/// The streams of a connection are tasks of their own: each is told when it is cut off.
#[tokio::test]
async fn what_is_cut_off_is_told() {
    bounded(async {
        let slow = SimConfig::default().token_interval(Duration::from_millis(25));
        let engine = sim(slow).await;
        let line = format!("--worker-urls {} --shutdown-grace-period-secs 0", engine.url());
        let mut router = Plimsoll::start(&line).await;
        let socket = TcpStream::connect(router.addr).await.expect("it listens");
        let (mut client, connection) =
            http2::handshake(TokioExecutor::new(), TokioIo::new(socket)).await.expect("HTTP/2");
        tokio::spawn(connection);
        let ask = |more| {
            let uri = format!("http://{}/v1/chat/completions", router.addr);
            let request = Request::post(uri).header("content-type", "application/json");
            request.body(Full::new(Bytes::from(chat(more)))).expect("a request")
        };
        let whole = tokio::spawn(client.send_request(ask(",\"max_tokens\":2000")));
        let stream = client.send_request(ask(",\"stream\":true,\"max_tokens\":2000"));
        let stream = stream.await.expect("a head");
        engine.wait_for(|totals| totals.requests == 2).await;
        router.signal("TERM").await;

        let events = stream.into_body().collect().await.expect("its end").to_bytes();
        let events = String::from_utf8_lossy(&events).into_owned();
        let last = events.trim_end().rsplit("\n\n").next().unwrap_or_default();
        assert!(last.contains("\"code\":\"stopping\""), "{last}");
        let whole = whole.await.expect("it was sent").expect("an answer");
        assert_eq!(whole.status(), 503);
        assert_eq!(router.ended().await.code(), Some(0));
    })
    .await;
}
