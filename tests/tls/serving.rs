//! Clients that come by TLS.

use std::time::Duration;

use http::Version;
use plimsoll_sim::{SimConfig, SimEngine};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

use super::{
    CHAT, SHORT,
    authority::Authority,
    client::{Answer, Client},
};
use crate::support::{Folder, Plimsoll, bounded, chat, eventually, sim};

/// Everything that most tests here need.
struct Stage {
    authority: Authority,
    folder: Folder,
    client: Client,
    router: Plimsoll,
    _engine: SimEngine,
}

async fn stage(flags: &str) -> Stage {
    let (authority, folder) = (Authority::new(), Folder::new());
    let engine = sim(SimConfig::default().token_interval(Duration::from_millis(10))).await;
    let client = Client::trusting(&authority.pem, &["http/1.1"]);
    let serving = authority.issue("127.0.0.1").serving(&folder);
    let line = format!("--worker-urls {} {serving} {flags}", engine.url());
    let router = Plimsoll::launch(&line).await;
    assert!(router.is_tls, "{}", router.log());
    eventually(async || match client.get(router.addr, "/readiness").await {
        Ok(Answer { status: 200, .. }) => Ok(()),
        other => Err(format!("{other:?}\n{}", router.log())),
    })
    .await;
    Stage { authority, folder, client, router, _engine: engine }
}

#[tokio::test]
async fn clients_speak_either_protocol() {
    bounded(async {
        let stage = stage("").await;
        let (pem, addr) = (&stage.authority.pem, stage.router.addr);
        for (protocols, version) in [
            (&["h2", "http/1.1"] as &[_], Version::HTTP_2),
            (&["http/1.1"], Version::HTTP_11),
            (&[], Version::HTTP_11),
        ] {
            let client = Client::trusting(pem, protocols);
            let answer = client.post(addr, CHAT, &chat(SHORT)).await.expect("an answer");
            assert_eq!((answer.status, answer.version), (200, version), "{}", answer.body);
            assert!(answer.body.contains("\"completion_tokens\":3"), "{}", answer.body);
        }
        let page = stage.router.page().await.to_string();
        assert!(page.contains("plimsoll_completion_tokens_total"), "{page}");
    })
    .await;
}

/// Whoever asks is known by the address of the connection, as without TLS.
#[tokio::test]
async fn workers_are_changed_from_this_host() {
    bounded(async {
        let stage = stage("").await;
        let body = r#"{"url":"https://127.0.0.1:9"}"#;
        let answer = stage.client.post(stage.router.addr, "/workers", body).await;
        let answer = answer.expect("an answer");
        assert_eq!(answer.status, 201, "{}", answer.body);
    })
    .await;
}

#[tokio::test]
async fn who_trusts_another_is_not_served() {
    bounded(async {
        let stage = stage("").await;
        let other = Client::trusting(&Authority::new().pem, &["http/1.1"]);
        let error = other.get(stage.router.addr, "/health").await.expect_err("no trust");
        assert!(error.contains("UnknownIssuer"), "{error}");
        assert_eq!(stage.client.get(stage.router.addr, "/health").await.expect("one").status, 200);
    })
    .await;
}

#[tokio::test]
async fn a_slow_handshake_holds_nobody() {
    bounded(async {
        let mut stage = stage("").await;
        let mut slow = Vec::new();
        for _ in 0..64 {
            let mut socket = TcpStream::connect(stage.router.addr).await.expect("it listens");
            // The beginning of a record, whose rest never comes.
            socket.write_all(&[0x16, 0x03, 0x01]).await.expect("it is open");
            slow.push(socket);
        }
        for _ in 0..8 {
            let answer = stage.client.post(stage.router.addr, CHAT, &chat(SHORT)).await;
            assert_eq!(answer.expect("an answer").status, 200);
        }
        // Nor is the end held up by them.
        stage.router.signal("TERM").await;
        let ended = timeout(Duration::from_secs(5), stage.router.ended()).await;
        assert_eq!(ended.expect("it ends at once").code(), Some(0));
    })
    .await;
}

/// Ten seconds, within which the handshake has to be over.
#[tokio::test]
async fn a_handshake_that_never_ends_is_given_up() {
    bounded(async {
        let stage = stage("").await;
        let mut socket = TcpStream::connect(stage.router.addr).await.expect("it listens");
        socket.write_all(&[0x16]).await.expect("it is open");
        let ended = timeout(Duration::from_secs(20), socket.read(&mut [0; 8])).await;
        assert_eq!(ended.expect("it is closed").unwrap_or(0), 0);
    })
    .await;
}

#[tokio::test]
async fn plain_http_is_closed() {
    bounded(async {
        let stage = stage("--log-level debug").await;
        for text in ["GET /health HTTP/1.1\r\nhost: x\r\n\r\n", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]
        {
            let mut socket = TcpStream::connect(stage.router.addr).await.expect("it listens");
            socket.write_all(text.as_bytes()).await.expect("it is open");
            let mut seen = Vec::new();
            // A reset is an end, too.
            let _ = socket.read_to_end(&mut seen).await;
            let seen = String::from_utf8_lossy(&seen);
            assert!(!seen.contains("HTTP"), "{seen}");
        }
        stage.router.logged("a connection has no TLS").await;
        assert!(!stage.router.log().contains("panicked"), "{}", stage.router.log());
        assert_eq!(stage.client.get(stage.router.addr, "/health").await.expect("one").status, 200);
    })
    .await;
}

#[tokio::test]
async fn a_certificate_is_read_anew() {
    bounded(async {
        let Stage { authority, folder, client, router, .. } = &stage("").await;
        let shown = async || {
            let stream = client.shake_hands(router.addr).await.expect("trust");
            stream.get_ref().1.peer_certificates().expect("one")[0].to_vec()
        };
        let first = shown().await;
        let next = authority.issue("127.0.0.1");
        next.serving(folder);
        assert_eq!(shown().await, first, "nobody has asked for it");
        router.signal("HUP").await;
        router.logged("new connections are shown another certificate").await;
        let second = shown().await;
        assert_ne!(second, first);

        // One that is wrong leaves what there is, and the log says what is wrong.
        folder.put("serving.key", &authority.issue("127.0.0.1").key);
        router.signal("HUP").await;
        router.logged("does not belong to the certificate").await;
        assert_eq!(shown().await, second);
        assert_eq!(
            client.post(router.addr, CHAT, &chat(SHORT)).await.expect("an answer").status,
            200
        );
        assert!(!router.log().contains("PRIVATE"), "{}", router.log());
    })
    .await;
}

/// One that is open keeps what it was shown, and goes on.
#[tokio::test]
async fn requests_under_way_end_at_the_end() {
    bounded(async {
        let mut stage = stage("").await;
        let stream = chat(",\"stream\":true,\"max_tokens\":30");
        let (client, addr) = (stage.client.clone(), stage.router.addr);
        let answer = tokio::spawn(async move { client.post(addr, CHAT, &stream).await });
        let line = "plimsoll_requests_in_flight{endpoint=\"chat\"} 1";
        stage.router.page_when(|page| page.to_string().contains(line)).await;
        stage.router.signal("TERM").await;
        let answer = answer.await.expect("a task").expect("an answer");
        assert!(answer.body.ends_with("data: [DONE]\n\n"), "{}", answer.body);
        assert_eq!(stage.router.ended().await.code(), Some(0));
    })
    .await;
}
