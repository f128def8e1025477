use std::time::Duration;

use tokio::{net::TcpStream, time::timeout};

use crate::client::{LIMIT, chat, post, read_all, read_until, send, start, tiny};

#[tokio::test]
async fn a_client_that_leaves_frees_the_kv() {
    let engine = start(tiny().token_interval(Duration::from_millis(5))).await;
    for stream in ["true", "false"] {
        let body = chat(&format!(",\"max_tokens\":400,\"stream\":{stream}"));
        let mut stream = send(engine.addr(), "POST", "/v1/chat/completions", &body).await;
        if body.contains("\"stream\":true") {
            read_until(&mut stream, "\"content\":\" ").await;
            assert!(engine.used_tokens() > 0);
        } else {
            engine.wait_for(|totals| totals.open == 1).await;
        }
        drop(stream);
        timeout(LIMIT, engine.wait_for(|totals| totals.open == 0)).await.unwrap();
        assert_eq!(engine.used_tokens(), 0);
    }
    let totals = engine.totals();
    assert_eq!((totals.requests, totals.aborted, totals.finished), (2, 2, 0));
}

#[tokio::test]
async fn who_finds_no_room_waits_for_it() {
    let engine = start(tiny().max_running_requests(1)).await;
    let (body, path) = (chat(",\"max_tokens\":20"), "/v1/chat/completions");
    let addr = engine.addr();
    let (one, two) = tokio::join!(post(addr, path, &body), post(addr, path, &body));
    assert_eq!((one.status, two.status), (200, 200));
    assert_eq!(engine.totals().finished, 2);
}

#[tokio::test]
async fn requests_are_remembered_as_sent() {
    let engine = start(tiny().seen_limit(1)).await;
    for body in [chat(""), chat(",\"max_tokens\": 1")] {
        post(engine.addr(), "/v1/chat/completions?x=1", &body).await;
        let seen = engine.requests();
        assert_eq!((seen.len(), &seen[0].body[..]), (1, body.as_bytes()));
        assert_eq!(seen[0].path, "/v1/chat/completions?x=1");
        assert_eq!(seen[0].header("Host"), Some("sim"));
    }
}

#[tokio::test]
async fn a_shutdown_closes_what_is_open() {
    let engine = start(tiny().token_interval(Duration::from_millis(5))).await;
    let addr = engine.addr();
    let body = chat(",\"max_tokens\":400,\"stream\":true");
    let mut stream = send(addr, "POST", "/v1/chat/completions", &body).await;
    read_until(&mut stream, "\"content\":\" ").await;
    engine.shutdown().await;
    let rest = read_all(stream).await.unwrap_or_default();
    assert!(!rest.ends_with(b"0\r\n\r\n"));
    assert!(TcpStream::connect(addr).await.is_err());
}

#[tokio::test]
async fn idle_connections_are_closed() {
    let engine = start(tiny().keep_alive(Some(Duration::from_millis(20)))).await;
    let stream = TcpStream::connect(engine.addr()).await.unwrap();
    assert!(read_all(stream).await.unwrap().is_empty());
}

#[tokio::test]
async fn hundreds_of_streams_run_on_one_thread() {
    let engine = start(tiny().capacity_tokens(100_000)).await;
    let body = chat(",\"max_tokens\":20,\"stream\":true");
    let mut streams = Vec::new();
    for _ in 0..300 {
        streams.push(send(engine.addr(), "POST", "/v1/chat/completions", &body).await);
    }
    for stream in streams {
        assert!(read_all(stream).await.unwrap().ends_with(b"data: [DONE]\n\n\r\n0\r\n\r\n"));
    }
    assert_eq!((engine.totals().finished, engine.totals().open), (300, 0));
}
