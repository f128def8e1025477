//! A client that shows what is on the wire.

use std::{net::SocketAddr, ops::Deref, time::Duration};

use bytes::{Bytes, BytesMut};
use plimsoll_sim::replay::Capture;
use serde_json::Value;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    time::timeout,
};

/// No answer is waited for longer.
const LIMIT: Duration = Duration::from_secs(20);

/// A request to be sent, on a connection of its own.
pub(crate) struct Call {
    addr: SocketAddr,
    head: String,
    framing: String,
    body: Bytes,
}

/// A request that was sent, its answer not read yet. Dropping it closes the connection.
pub(crate) struct Exchange {
    read: OwnedReadHalf,
    /// Kept open: a half-closed connection is another thing.
    write: OwnedWriteHalf,
    seen: BytesMut,
}

/// An answer.
#[derive(Debug)]
pub(crate) struct Answer(Capture);

// === impl Call ===

impl Call {
    pub(crate) fn new(addr: SocketAddr, method: &str, path: &str) -> Self {
        let head = format!("{method} {path} HTTP/1.1\r\nhost: {addr}\r\n");
        Self { addr, head, framing: String::new(), body: Bytes::new() }
    }

    #[must_use]
    pub(crate) fn header(mut self, name: &str, value: &str) -> Self {
        self.head.push_str(&format!("{name}: {value}\r\n"));
        self
    }

    #[must_use]
    pub(crate) fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self.framing = format!("content-length: {}\r\n", self.body.len());
        self
    }

    /// The body as one chunk, its length not stated in the head.
    #[must_use]
    pub(crate) fn chunked(mut self, body: &str) -> Self {
        self.body = format!("{:x}\r\n{body}\r\n0\r\n\r\n", body.len()).into();
        "transfer-encoding: chunked\r\n".clone_into(&mut self.framing);
        self
    }

    /// A body of so many bytes, none of which is sent.
    #[must_use]
    pub(crate) fn withheld(mut self, length: u64) -> Self {
        self.body = Bytes::new();
        self.framing = format!("content-length: {length}\r\n");
        self
    }

    /// Sends it.
    pub(crate) async fn open(self) -> Exchange {
        let mut exchange = Exchange::connect(self.addr).await;
        exchange.ask(self).await;
        exchange
    }

    /// Sends it and reads the answer to the end of the connection.
    pub(crate) async fn send(self) -> Answer {
        self.open().await.rest().await
    }
}

// === impl Exchange ===

impl Exchange {
    /// Sends these bytes as they are on a connection of their own. Whoever gets them may close before
    /// it has read them all.
    pub(crate) async fn raw(addr: SocketAddr, bytes: impl AsRef<[u8]>) -> Self {
        let mut exchange = Self::connect(addr).await;
        exchange.push(bytes).await;
        exchange
    }

    async fn connect(addr: SocketAddr) -> Self {
        let connection = TcpStream::connect(addr).await.expect("it listens");
        connection.set_nodelay(true).expect("a TCP connection");
        let (read, write) = connection.into_split();
        Self { read, write, seen: BytesMut::new() }
    }

    /// Sends more bytes as they are. Whether they were taken.
    pub(crate) async fn push(&mut self, bytes: impl AsRef<[u8]>) -> bool {
        let written = timeout(LIMIT, self.write.write_all(bytes.as_ref())).await;
        written.expect("it is read").is_ok()
    }

    /// Says that no more will be sent, and reads on.
    pub(crate) async fn half_close(&mut self) {
        self.write.shutdown().await.expect("it is open");
    }

    /// Closes the connection with a reset.
    pub(crate) fn reset(self) {
        let connection = self.read.reunite(self.write).expect("the halves of one");
        connection.set_zero_linger().expect("a TCP connection");
    }

    /// All that the connection brings until it is closed, and was not read yet.
    pub(crate) async fn all(mut self) -> String {
        while self.more().await > 0 {}
        String::from_utf8_lossy(&self.seen).into_owned()
    }

    /// As [`all`](Self::all), but only how much it is.
    pub(crate) async fn measure(mut self) -> u64 {
        let mut length = self.seen.len() as u64;
        loop {
            self.seen.clear();
            match self.more().await {
                0 => return length,
                more => length += more as u64,
            }
        }
    }

    /// Sends a request after those whose answers were read. For more than one, they must say that
    /// the connection is kept.
    pub(crate) async fn ask(&mut self, call: Call) {
        let Call { head, framing, body, .. } = call;
        let close = if head.contains("\r\nconnection:") { "" } else { "connection: close\r\n" };
        let head = format!("{head}{framing}{close}\r\n");
        let sent = async {
            self.write.write_all(head.as_bytes()).await?;
            self.write.write_all(&body).await
        };
        timeout(LIMIT, sent).await.expect("it is read").expect("it is read");
        self.seen.clear();
    }

    /// Reads until what came holds `wanted`.
    pub(crate) async fn until(&mut self, wanted: &str) {
        while !String::from_utf8_lossy(&self.seen).contains(wanted) {
            assert_ne!(self.more().await, 0, "it closed before {wanted:?}: {:?}", self.seen);
        }
    }

    /// Reads one answer whose length its head states, and no further.
    pub(crate) async fn whole(&mut self) -> Answer {
        loop {
            match Capture::parse(&self.seen) {
                Ok(capture) if capture.complete => return Answer(capture),
                _ => assert_ne!(self.more().await, 0, "it closed: {:?}", self.seen),
            }
        }
    }

    /// What the connection still brings, together with what was read.
    pub(crate) async fn rest(mut self) -> Answer {
        while self.more().await > 0 {}
        let text = String::from_utf8_lossy(&self.seen);
        Answer(Capture::parse(&self.seen).unwrap_or_else(|error| panic!("{error}: {text:?}")))
    }

    /// Whether the connection was closed without an answer.
    pub(crate) async fn ends_cut(mut self) -> bool {
        while self.more().await > 0 {}
        !Capture::parse(&self.seen).is_ok_and(|capture| capture.complete)
    }

    async fn more(&mut self) -> usize {
        let read = timeout(LIMIT, self.read.read_buf(&mut self.seen)).await;
        // A reset is an end, too.
        read.expect("it answers in time").unwrap_or(0)
    }
}

// === impl Answer ===

impl Answer {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.0.headers.iter();
        headers.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    pub(crate) fn text(&self) -> String {
        String::from_utf8_lossy(&self.0.body()).into_owned()
    }

    #[track_caller]
    pub(crate) fn json(&self) -> Value {
        let body = self.0.body();
        serde_json::from_slice(&body).unwrap_or_else(|error| panic!("{error}: {}", self.text()))
    }

    /// The body is an error of the router's own, in the OpenAI shape: its message.
    #[track_caller]
    pub(crate) fn error(&self) -> String {
        let body = self.json();
        let error = body["error"].as_object().unwrap_or_else(|| panic!("no error: {body}"));
        let members: Vec<_> = error.keys().map(String::as_str).collect();
        assert_eq!(members, ["code", "message", "param", "type"], "{body}");
        assert!(error["type"].is_string() && error["code"].is_string(), "{body}");
        assert_eq!(self.header("content-type"), Some("application/json"));
        error["message"].as_str().expect("a message").to_owned()
    }
}

impl Deref for Answer {
    type Target = Capture;

    fn deref(&self) -> &Capture {
        &self.0
    }
}
