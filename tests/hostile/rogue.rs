//! An engine whose connections do as they like.

use std::{
    future::Future,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// An engine that answers each GET, and leaves what follows the head of a POST to a test.
pub(super) struct Rogue {
    addr: SocketAddr,
    asked: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

const LISTING: &str = r#"{"data":[{"id":"m","owned_by":"sglang"}]}"#;

// === impl Rogue ===

impl Rogue {
    pub(super) async fn start<F>(answer: impl Fn(TcpStream) -> F + Copy + Send + 'static) -> Self
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let addr = listener.local_addr().expect("an address");
        let asked = Arc::<AtomicUsize>::default();
        let count = asked.clone();
        let task = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let count = count.clone();
                tokio::spawn(async move {
                    let Some(head) = head(&mut stream).await else { return };
                    if head.starts_with("POST") {
                        count.fetch_add(1, Ordering::Relaxed);
                        return answer(stream).await;
                    }
                    let length = LISTING.len();
                    let head = "HTTP/1.1 200 OK\r\nconnection: close\r\ncontent-length: ";
                    let answer = format!("{head}{length}\r\n\r\n{LISTING}");
                    let _ = stream.write_all(answer.as_bytes()).await;
                });
            }
        });
        Self { addr, asked, task }
    }

    pub(super) fn url(&self) -> String {
        format!("http://{}", self.addr)
    }

    /// How many requests it has got.
    pub(super) fn asked(&self) -> usize {
        self.asked.load(Ordering::Relaxed)
    }
}

impl Drop for Rogue {
    fn drop(&mut self) {
        self.task.abort();
    }
}

/// The head of a request, byte by byte: what follows it is not to be read.
async fn head(stream: &mut TcpStream) -> Option<String> {
    let mut head = Vec::new();
    while !head.ends_with(b"\r\n\r\n") {
        head.push(stream.read_u8().await.ok()?);
    }
    String::from_utf8(head).ok()
}
