//! The server.

use std::{
    fmt,
    future::pending,
    io,
    net::{Ipv4Addr, SocketAddr},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::{Bytes, BytesMut};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    sync::watch,
    time::{Instant, sleep},
};

use super::reply::{Reply, Step};
use crate::{
    seen::{SeenLog, SeenRequest},
    server::accept::{self, Listening},
    sync::lock,
};

/// Requests remembered.
const SEEN: usize = 65_536;

/// A connection the client closed while it was being answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Closed {
    /// Which request was being answered: its index in the order of arrival, from 0.
    pub request: usize,
    /// When the close was noticed.
    pub at: Instant,
}

/// A plain TCP engine: reads one HTTP/1.1 request at a time (bodies need a content-length), and
/// answers with the bytes a closure chooses. Listens on loopback until dropped.
pub struct ReplayServer {
    log: Arc<Log>,
    listening: Listening,
}

#[derive(Debug)]
struct Log {
    seen: SeenLog,
    closed: Mutex<Vec<Closed>>,
    closed_count: watch::Sender<usize>,
    written: AtomicU64,
}

// === impl ReplayServer ===

impl ReplayServer {
    /// Starts a server that asks `answer` about each request. For `None` it answers
    /// `GET /health` and `GET /v1/models` with 200 and everything else with 404.
    ///
    /// # Errors
    ///
    /// When no loopback port can be bound.
    pub async fn start<F>(answer: F) -> io::Result<Self>
    where
        F: Fn(&SeenRequest) -> Option<Reply> + Send + Sync + 'static,
    {
        let closed_count = watch::Sender::default();
        let (seen, closed) = (SeenLog::new(SEEN), Mutex::default());
        let log = Log { seen, closed, closed_count, written: AtomicU64::new(0) };
        let log = Arc::new(log);
        let (shared, answer) = (Arc::clone(&log), Arc::new(answer));
        let addr = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
        let listening = accept::listen(addr, pending(), move |stream| {
            let (log, answer) = (Arc::clone(&shared), Arc::clone(&answer));
            async move {
                let connection = Connection { stream, pending: BytesMut::new(), log };
                if let Err(error) = connection.serve(&*answer).await {
                    tracing::debug!(%error, "replay connection ended");
                }
            }
        })
        .await?;
        Ok(Self { log, listening })
    }

    /// Where the server listens.
    #[must_use]
    pub fn addr(&self) -> SocketAddr {
        self.listening.addr
    }

    /// Base URL, without a slash at the end.
    #[must_use]
    pub fn url(&self) -> String {
        format!("http://{}", self.listening.addr)
    }

    /// All requests read so far, health probes included.
    #[must_use]
    pub fn requests(&self) -> Vec<SeenRequest> {
        self.log.seen.kept()
    }

    /// Waits until `count` requests have been read in all.
    pub async fn wait_requests(&self, count: usize) {
        self.log.seen.wait(count).await;
    }

    /// Connections closed by their clients amid an answer, in the order noticed.
    #[must_use]
    pub fn closed(&self) -> Vec<Closed> {
        lock(&self.log.closed).clone()
    }

    /// Waits until `count` clients have closed amid an answer.
    pub async fn wait_closed(&self, count: usize) {
        // The sender lives in `self`, so the wait cannot fail.
        let _ = self.log.closed_count.subscribe().wait_for(|&closed| closed >= count).await;
    }

    /// Bytes that its connections have taken so far, of steps that are done.
    #[must_use]
    pub fn written(&self) -> u64 {
        self.log.written.load(Ordering::Relaxed)
    }

    /// Closes the listener and all connections.
    pub async fn shutdown(self) {
        self.listening.stop().await;
    }
}

impl fmt::Debug for ReplayServer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ReplayServer").field("addr", &self.addr()).finish_non_exhaustive()
    }
}

// === impl Log ===

impl Log {
    fn close(&self, request: usize) {
        let mut closed = lock(&self.closed);
        closed.push(Closed { request, at: Instant::now() });
        self.closed_count.send_replace(closed.len());
    }
}

struct Connection {
    stream: TcpStream,
    /// Read, but of a request not complete yet.
    pending: BytesMut,
    log: Arc<Log>,
}

/// Whether a connection can take another request.
#[derive(PartialEq, Eq)]
enum Next {
    Request,
    Nothing,
}

// === impl Connection ===

impl Connection {
    async fn serve(
        mut self,
        answer: &(dyn Fn(&SeenRequest) -> Option<Reply> + Send + Sync),
    ) -> io::Result<()> {
        while let Some(request) = self.read_request().await? {
            let reply = answer(&request).unwrap_or_else(|| default_reply(&request));
            let index = self.log.seen.push(request);
            if self.play(index, reply).await? == Next::Nothing {
                break;
            }
        }
        Ok(())
    }

    async fn play(&mut self, index: usize, reply: Reply) -> io::Result<Next> {
        for step in reply.steps {
            let gone = match step {
                Step::Write(bytes) => {
                    let failed = self.stream.write_all(&bytes).await.is_err();
                    if !failed {
                        self.log.written.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                    }
                    failed
                }
                Step::Wait(time) => tokio::select! {
                    () = sleep(time) => false,
                    () = closed(&mut self.stream, &mut self.pending) => true,
                },
                Step::WaitForClose => {
                    closed(&mut self.stream, &mut self.pending).await;
                    true
                }
                Step::Close => {
                    self.stream.shutdown().await?;
                    return Ok(Next::Nothing);
                }
                Step::Reset => {
                    self.stream.set_zero_linger()?;
                    return Ok(Next::Nothing);
                }
            };
            if gone {
                self.log.close(index);
                return Ok(Next::Nothing);
            }
        }
        Ok(Next::Request)
    }

    /// The next request, `None` if the client closed before one was complete.
    async fn read_request(&mut self) -> io::Result<Option<SeenRequest>> {
        let head = loop {
            if let Some(end) = find(&self.pending, b"\r\n\r\n") {
                break self.pending.split_to(end + 4).freeze();
            }
            if self.stream.read_buf(&mut self.pending).await? == 0 {
                return Ok(None);
            }
        };
        let mut request = parse_head(&head);
        let length = request.header("content-length").and_then(|text| text.parse().ok());
        let length: usize = length.unwrap_or(0);
        while self.pending.len() < length {
            if self.stream.read_buf(&mut self.pending).await? == 0 {
                return Ok(None);
            }
        }
        request.body = self.pending.split_to(length).freeze();
        request.at = Instant::now();
        Ok(Some(request))
    }
}

/// Resolves when the client closes; bytes sent before that are kept.
async fn closed(stream: &mut TcpStream, pending: &mut BytesMut) {
    while matches!(stream.read_buf(pending).await, Ok(read) if read > 0) {}
}

fn parse_head(head: &Bytes) -> SeenRequest {
    let head = String::from_utf8_lossy(head);
    let mut lines = head.split("\r\n");
    let mut first = lines.next().unwrap_or_default().split(' ');
    let method = first.next().unwrap_or_default().to_owned();
    let path = first.next().unwrap_or_default().to_owned();
    let headers = lines.filter_map(|line| line.split_once(':'));
    let headers = headers.map(|(name, value)| (name.to_owned(), value.trim().to_owned()));
    let headers = headers.collect();
    SeenRequest { method, path, headers, body: Bytes::new(), at: Instant::now() }
}

fn default_reply(request: &SeenRequest) -> Reply {
    match (request.method.as_str(), request.path.as_str()) {
        ("GET", "/health") => Reply::json(200, ""),
        ("GET", "/v1/models") => Reply::json(
            200,
            r#"{"object":"list","data":[{"id":"replay","object":"model","owned_by":"sglang"}]}"#,
        ),
        _ => Reply::json(404, r#"{"detail":"Not Found"}"#),
    }
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}
