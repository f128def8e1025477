//! HTTP/2 frame by frame, as no library would send them.

use std::{net::SocketAddr, time::Duration};

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{
        TcpStream,
        tcp::{OwnedReadHalf, OwnedWriteHalf},
    },
    time::timeout,
};

const DATA: u8 = 0;
const HEADERS: u8 = 1;
const RESET: u8 = 3;
const SETTINGS: u8 = 4;
const GO_AWAY: u8 = 7;
const CONTINUATION: u8 = 9;

const END_STREAM: u8 = 1;
const END_HEADERS: u8 = 4;

/// Error codes (RFC 9113, section 7).
pub(super) const REFUSED_STREAM: u32 = 7;
pub(super) const ENHANCE_YOUR_CALM: u32 = 11;

const LIMIT: Duration = Duration::from_secs(20);

/// A client's connection.
pub(super) struct Frames {
    read: OwnedReadHalf,
    write: OwnedWriteHalf,
}

/// What the server sent.
#[derive(Debug)]
pub(super) struct Frame {
    kind: u8,
    flags: u8,
    pub(super) stream: u32,
    payload: Vec<u8>,
}

// === impl Frames ===

impl Frames {
    /// A connection whose preface was sent, with settings that say nothing.
    pub(super) async fn open(addr: SocketAddr) -> Self {
        let connection = TcpStream::connect(addr).await.expect("it listens");
        let (read, write) = connection.into_split();
        let mut frames = Self { read, write };
        assert!(frames.write(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await);
        assert!(frames.send(SETTINGS, 0, 0, &[]).await);
        frames
    }

    /// Begins a request without a body, or one whose body is to come.
    pub(super) async fn ask(&mut self, stream: u32, path: &str, is_whole: bool) -> bool {
        let flags = END_HEADERS | if is_whole { END_STREAM } else { 0 };
        let method = if is_whole { 0x82 } else { 0x83 };
        self.send(HEADERS, flags, stream, &head(method, path)).await
    }

    /// Begins a request whose head does not end here.
    pub(super) async fn begin(&mut self, stream: u32, path: &str) -> bool {
        self.send(HEADERS, END_STREAM, stream, &head(0x82, path)).await
    }

    /// More of a head.
    pub(super) async fn go_on(&mut self, stream: u32, fields: &[u8], is_end: bool) -> bool {
        self.send(CONTINUATION, if is_end { END_HEADERS } else { 0 }, stream, fields).await
    }

    pub(super) async fn reset(&mut self, stream: u32) -> bool {
        self.send(RESET, 0, stream, &8_u32.to_be_bytes()).await
    }

    /// Reads until such a frame comes, or the end: `None`.
    pub(super) async fn find(&mut self, is_it: impl Fn(&Frame) -> bool) -> Option<Frame> {
        loop {
            let frame = timeout(LIMIT, self.next()).await.expect("it answers in time")?;
            if is_it(&frame) {
                return Some(frame);
            }
        }
    }

    /// Reads until such a frame comes.
    pub(super) async fn until(&mut self, is_it: impl Fn(&Frame) -> bool) -> Frame {
        self.find(is_it).await.expect("it closed before that")
    }

    async fn next(&mut self) -> Option<Frame> {
        let mut head = [0; 9];
        self.read.read_exact(&mut head).await.ok()?;
        let [a, b, c, kind, flags, stream @ ..] = head;
        let mut payload = vec![0; u32::from_be_bytes([0, a, b, c]) as usize];
        self.read.read_exact(&mut payload).await.ok()?;
        Some(Frame { kind, flags, stream: u32::from_be_bytes(stream), payload })
    }

    /// Whether it was taken.
    async fn send(&mut self, kind: u8, flags: u8, stream: u32, payload: &[u8]) -> bool {
        let [_, length @ ..] = u32::try_from(payload.len()).expect("a short one").to_be_bytes();
        let head = [&length[..], &[kind, flags], &stream.to_be_bytes()].concat();
        self.write(&[&head, payload].concat()).await
    }

    async fn write(&mut self, bytes: &[u8]) -> bool {
        let written = timeout(LIMIT, self.write.write_all(bytes)).await;
        written.expect("it is read").is_ok()
    }
}

/// The fields of a request, uncompressed: method, scheme `http`, path and authority.
fn head(method: u8, path: &str) -> Vec<u8> {
    let mut fields = vec![method, 0x86, 0x04];
    fields.extend(text(path));
    fields.push(0x01);
    fields.extend(text("router"));
    fields
}

/// A field that is not to be remembered.
pub(super) fn field(name: &str, value: &str) -> Vec<u8> {
    [vec![0], text(name), text(value)].concat()
}

/// A text with its length, 16 kB at most.
fn text(text: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    match text.len().checked_sub(127) {
        None => bytes.push(text.len() as u8),
        Some(mut rest) => {
            bytes.push(127);
            while rest > 127 {
                bytes.push(rest as u8 | 128);
                rest >>= 7;
            }
            bytes.push(rest as u8);
        }
    }
    bytes.extend_from_slice(text.as_bytes());
    bytes
}

// === impl Frame ===

impl Frame {
    /// The last of a stream's answer.
    pub(super) fn is_end_of(&self, stream: u32) -> bool {
        let ends = matches!(self.kind, DATA | HEADERS) && self.flags & END_STREAM != 0;
        self.stream == stream && ends
    }

    pub(super) fn is_head_of(&self, stream: u32) -> bool {
        self.stream == stream && self.kind == HEADERS
    }

    /// A stream was given up, with this code.
    pub(super) fn reset(&self) -> Option<u32> {
        (self.kind == RESET).then(|| number(&self.payload))
    }

    /// The connection was given up, with this code.
    pub(super) fn go_away(&self) -> Option<u32> {
        (self.kind == GO_AWAY).then(|| number(&self.payload[4..]))
    }

    pub(super) fn holds(&self, bytes: &[u8]) -> bool {
        self.payload.windows(bytes.len()).any(|window| window == bytes)
    }

    /// A setting of the server's.
    pub(super) fn setting(&self, name: u16) -> Option<u32> {
        let mut settings = self.payload.chunks(6).filter(|_| self.kind == SETTINGS);
        let found = settings.find(|setting| setting.starts_with(&name.to_be_bytes()))?;
        Some(number(&found[2..]))
    }
}

fn number(bytes: &[u8]) -> u32 {
    u32::from_be_bytes([bytes[0], bytes[1], bytes[2], bytes[3]])
}
