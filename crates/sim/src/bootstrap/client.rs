//! Decode's side of the hand-over.

use std::{collections::HashMap, io, sync::Mutex, time::Duration};

use tokio::{
    io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufStream},
    net::TcpStream,
    time::sleep,
};

use super::{HandOver, nixl::Source};
use crate::sync::lock;

/// Pause before another try at a prefill that does not answer.
const RETRY: Duration = Duration::from_millis(50);

/// Idle connections kept for one prefill.
const IDLE: usize = 256;

/// Host and port of a prefill's server.
type Peer = (String, u16);

type Stream = BufStream<TcpStream>;

/// Connections to the hand-over servers of prefill engines.
#[derive(Debug, Default)]
pub(crate) struct Peers {
    idle: Mutex<HashMap<Peer, Vec<Stream>>>,
}

// === impl Peers ===

impl Peers {
    /// Waits in a room for prefill's result, trying again as long as prefill cannot be reached.
    /// The caller sets the time limit.
    pub(crate) async fn wait_in_room(&self, host: &str, port: u16, room: u64) -> HandOver {
        let peer = (host.to_owned(), port);
        loop {
            let asked = self.post(&peer, &format!("/sim/rooms/{room}"), &[]).await;
            match asked.and_then(|body| Ok(serde_json::from_slice(&body)?)) {
                Ok(result) => return result,
                Err(error) => {
                    tracing::debug!(%error, host, port, "prefill cannot be reached");
                    sleep(RETRY).await;
                }
            }
        }
    }

    /// Takes what prefill keeps under the ids of `source`: one try, then it is gone.
    pub(crate) async fn fetch(&self, source: &Source) -> io::Result<()> {
        let peer = (source.remote_host.clone(), source.remote_port);
        let body = serde_json::to_vec(&source)?;
        self.post(&peer, "/sim/kept", &body).await?;
        Ok(())
    }

    /// Posts on a kept connection or, if there is none that still works, on a new one.
    async fn post(&self, peer: &Peer, path: &str, body: &[u8]) -> io::Result<Vec<u8>> {
        loop {
            let kept = lock(&self.idle).get_mut(peer).and_then(Vec::pop);
            let was_kept = kept.is_some();
            match exchange(kept, peer, path, body).await {
                Ok((stream, answer)) => {
                    let mut idle = lock(&self.idle);
                    let streams = idle.entry(peer.clone()).or_default();
                    if streams.len() < IDLE {
                        streams.push(stream);
                    }
                    return answer.ok_or_else(|| io::ErrorKind::NotFound.into());
                }
                Err(_) if was_kept => {}
                Err(error) => return Err(error),
            }
        }
    }
}

/// One request and the body of its answer, `None` if that is no 200.
async fn exchange(
    kept: Option<Stream>,
    (host, port): &Peer,
    path: &str,
    body: &[u8],
) -> io::Result<(Stream, Option<Vec<u8>>)> {
    let mut stream = match kept {
        Some(stream) => stream,
        None => {
            let stream = TcpStream::connect((host.as_str(), *port)).await?;
            stream.set_nodelay(true)?;
            BufStream::with_capacity(512, 512, stream)
        }
    };
    let length = body.len();
    let head = format!("POST {path} HTTP/1.1\r\nhost: {host}\r\ncontent-length: {length}\r\n\r\n");
    stream.write_all(head.as_bytes()).await?;
    stream.write_all(body).await?;
    stream.flush().await?;
    let (mut found, mut length) = (false, 0);
    loop {
        let mut line = String::new();
        if stream.read_line(&mut line).await? == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        found |= line.starts_with("HTTP/1.1 200 ");
        match line.trim_end().to_ascii_lowercase().split_once(": ") {
            Some(("content-length", value)) => length = value.parse().unwrap_or(0),
            _ if line == "\r\n" => break,
            _ => {}
        }
    }
    let mut body = vec![0; length];
    stream.read_exact(&mut body).await?;
    Ok((stream, found.then_some(body)))
}
