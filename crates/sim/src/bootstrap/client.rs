//! Decode's side of the bootstrap protocol.

use std::{collections::HashMap, io, sync::Mutex, time::Duration};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream},
    net::TcpStream,
    time::sleep,
};

use super::HandOver;
use crate::sync::lock;

/// Pause before another try at a prefill that does not answer.
const RETRY: Duration = Duration::from_millis(50);

/// Idle connections kept for one prefill.
const IDLE: usize = 256;

/// Host and port of a bootstrap server.
type Peer = (String, u16);

type Stream = BufStream<TcpStream>;

/// Connections to the bootstrap servers of prefill engines.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    idle: Mutex<HashMap<Peer, Vec<Stream>>>,
}

// === impl Peers ===

impl Peers {
    /// Waits in a room for prefill's result, trying again as long as prefill cannot be reached.
    /// The caller sets the time limit.
    pub(crate) async fn fetch(&self, host: &str, port: u16, room: u64) -> HandOver {
        let peer = (host.to_owned(), port);
        loop {
            let kept = lock(&self.idle).get_mut(&peer).and_then(Vec::pop);
            let was_kept = kept.is_some();
            match exchange(kept, host, port, room).await {
                Ok((stream, result)) => {
                    let mut idle = lock(&self.idle);
                    let streams = idle.entry(peer).or_default();
                    if streams.len() < IDLE {
                        streams.push(stream);
                    }
                    return result;
                }
                Err(_) if was_kept => {}
                Err(error) => {
                    tracing::debug!(%error, host, port, "prefill cannot be reached");
                    sleep(RETRY).await;
                }
            }
        }
    }
}

async fn exchange(
    kept: Option<Stream>,
    host: &str,
    port: u16,
    room: u64,
) -> io::Result<(Stream, HandOver)> {
    let mut stream = match kept {
        Some(stream) => stream,
        None => {
            let stream = TcpStream::connect((host, port)).await?;
            stream.set_nodelay(true)?;
            BufStream::with_capacity(512, 512, stream)
        }
    };
    let head =
        format!("POST /sim/rooms/{room} HTTP/1.1\r\nhost: {host}\r\ncontent-length: 0\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    stream.flush().await?;
    let mut length = 0;
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        match line.trim_end().to_ascii_lowercase().split_once(": ") {
            Some(("content-length", value)) => length = value.parse().unwrap_or(0),
            _ if line == "\r\n" => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok((stream, serde_json::from_slice(&body)?))
}
