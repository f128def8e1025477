use std::io;

use plimsoll_sim::replay::{Capture, ReplayServer, Reply, Step};

use crate::client::{fixture, read_all, read_until, send};

#[tokio::test]
async fn recordings_go_out_byte_for_byte() {
    let capture = fixture("chat-stream-usage");
    let wire = capture.to_wire();
    let reply = Reply::new().write(wire.clone()).then(Step::Close);
    let server =
        ReplayServer::start(move |request| (request.method == "POST").then(|| reply.clone()));
    let server = server.await.unwrap();
    let stream = send(server.addr(), "POST", "/x", "{\"a\": 1}").await;
    assert_eq!(read_all(stream).await.unwrap(), wire);
    let seen = &server.requests()[0];
    assert_eq!((seen.path.as_str(), &seen.body[..]), ("/x", &b"{\"a\": 1}"[..]));
    let mut stream = send(server.addr(), "GET", "/health", "").await;
    read_until(&mut stream, "200").await;
    assert_eq!(capture, Capture::parse(&wire).unwrap());
}

#[tokio::test]
async fn a_close_amid_an_answer_is_noticed() {
    let server = ReplayServer::start(|_| {
        Some(Reply::new().write("HTTP/1.1 200 OK\r\n\r\n").then(Step::WaitForClose))
    });
    let server = server.await.unwrap();
    let mut stream = send(server.addr(), "POST", "/x", "").await;
    read_until(&mut stream, "200").await;
    assert!(server.closed().is_empty());
    drop(stream);
    server.wait_closed(1).await;
    assert_eq!(server.closed()[0].request, 0);
}

#[tokio::test]
async fn a_reset_is_a_reset() {
    let server = ReplayServer::start(|_| Some(Reply::new().then(Step::Reset))).await.unwrap();
    let stream = send(server.addr(), "POST", "/x", "").await;
    let error = read_all(stream).await.unwrap_err();
    assert_eq!(error.kind(), io::ErrorKind::ConnectionReset);
    server.wait_requests(1).await;
    server.shutdown().await;
}

#[tokio::test]
async fn one_connection_carries_many_requests() {
    let server = ReplayServer::start(|_| None).await.unwrap();
    let keep = "GET /v1/models HTTP/1.1\r\nhost: x\r\n\r\n".repeat(2);
    let mut stream = tokio::net::TcpStream::connect(server.addr()).await.unwrap();
    tokio::io::AsyncWriteExt::write_all(&mut stream, keep.as_bytes()).await.unwrap();
    server.wait_requests(2).await;
    read_until(&mut stream, "replay").await;
    drop(stream);
    let other = send(server.addr(), "POST", "/v1/nope", "").await;
    drop(other);
    server.shutdown().await;
}
