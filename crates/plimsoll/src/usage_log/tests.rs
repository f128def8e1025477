use std::{fs, path::PathBuf};

use http::{Request, Response};
use plimsoll_meter::{MeterLayer, PeekLayer, Sink};
use serde_json::{Value, json};
use tower_layer::Layer;
use tower_service::Service;

use super::{PageSource, UsageLog};

/// A file of this test's own, removed at its end.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("plimsoll-{}-{name}", std::process::id()));
        let _ = fs::remove_file(&path);
        Self(path)
    }

    fn lines(&self) -> Vec<Value> {
        let text = fs::read_to_string(&self.0).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_file(&self.0);
    }
}

/// A request that a service below `sink` answers with `answer`.
fn serve(sink: impl Sink, answer: &'static str) {
    let service = Answer(answer);
    let layer = MeterLayer::new(sink).tenant(|_, _| Some("team-a".into()));
    let mut service = layer.layer(PeekLayer::new().layer(service));
    let request = Request::post("/v1/chat/completions").header("x-request-id", "r1");
    let future = service.call(request.body(http_body_util::Full::new("{}".into())).unwrap());
    let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
    let body = runtime.block_on(future).unwrap().into_body();
    runtime.block_on(http_body_util::BodyExt::collect(body)).unwrap();
}

struct Answer(&'static str);

impl<B> Service<Request<B>> for Answer {
    type Response = Response<http_body_util::Full<bytes::Bytes>>;
    type Error = std::convert::Infallible;
    type Future = std::future::Ready<Result<Self::Response, Self::Error>>;

    fn poll_ready(
        &mut self,
        _: &mut std::task::Context<'_>,
    ) -> std::task::Poll<Result<(), Self::Error>> {
        std::task::Poll::Ready(Ok(()))
    }

    fn call(&mut self, _: Request<B>) -> Self::Future {
        std::future::ready(Ok(Response::new(http_body_util::Full::new(self.0.into()))))
    }
}

const ANSWER: &str = r#"{"model":"m","choices":[{"finish_reason":"stop"}],"usage":{"prompt_tokens":7,"completion_tokens":3,"prompt_tokens_details":{"cached_tokens":2}}}"#;

#[test]
fn a_line_says_what_the_contract_lists() {
    let file = Scratch::new("line");
    let log = UsageLog::to_file(&file.0).unwrap();
    serve(log.sink(), ANSWER);
    log.close();
    let [line] = <[Value; 1]>::try_from(file.lines()).unwrap();
    let ts = line["ts"].as_str().unwrap();
    assert!(ts.len() == "2026-12-02T12:00:00.000Z".len() && ts.ends_with('Z'), "{ts}");
    assert!(line["timing"]["total_ms"].is_number() && line["timing"]["first_byte_ms"].is_number());
    let mut rest = line.clone();
    for timed in ["ts", "timing"] {
        rest.as_object_mut().unwrap().remove(timed);
    }
    let want = json!({
        "id": "r1", "endpoint": "chat", "model": "m", "tenant": "team-a", "stream": false,
        "status": 200, "outcome": "complete", "completeness": "exact",
        "usage": {"prompt": 7, "cached": 2, "completion": 3, "reasoning": null},
        "lower_bound": {"completion": null}, "chunks": 0, "attempts": 0, "prefill": null,
        "decode": null, "finish_reasons": ["stop"],
    });
    assert_eq!(rest, want);
}

#[test]
fn a_file_that_was_moved_away_is_left_alone_once_reopened() {
    let (file, moved) = (Scratch::new("moving"), Scratch::new("moved"));
    let log = UsageLog::to_file(&file.0).unwrap();
    serve(log.sink(), ANSWER);
    while fs::read(&file.0).unwrap().is_empty() {
        std::thread::yield_now();
    }
    fs::rename(&file.0, &moved.0).unwrap();
    log.reopen();
    while !file.0.exists() {
        std::thread::yield_now();
    }
    serve(log.sink(), ANSWER);
    serve(log.sink(), ANSWER);
    log.close();
    assert_eq!((moved.lines().len(), file.lines().len()), (1, 2));
}

/// What a process left that was killed as it wrote.
#[test]
fn a_file_that_ends_amid_a_line_gets_whole_lines_nevertheless() {
    let file = Scratch::new("torn");
    let wrote = |lines: usize| {
        let text = fs::read_to_string(&file.0).unwrap();
        let whole = text.lines().filter(|line| serde_json::from_str::<Value>(line).is_ok()).count();
        assert_eq!((whole, text.lines().count()), (lines, lines + 1), "{text}");
    };
    fs::write(&file.0, "{\"ts\":\"2026-").unwrap();
    for lines in 1..3 {
        let log = UsageLog::to_file(&file.0).unwrap();
        serve(log.sink(), ANSWER);
        log.reopen();
        log.close();
        wrote(lines);
    }
}

#[test]
fn what_cannot_be_written_is_counted() {
    // A device that takes nothing.
    let log = UsageLog::to_file("/dev/full").unwrap();
    let sink = log.sink();
    for _ in 0..3 {
        serve(log.sink(), ANSWER);
    }
    log.close();
    assert_eq!(sink.dropped(), 3);
    serve(sink.clone(), ANSWER);
    assert_eq!(sink.dropped(), 4, "nobody takes it any more");
    let mut page = String::new();
    sink.write(&mut page);
    assert!(page.contains("\nplimsoll_usage_log_dropped_total 4\n"), "{page}");
}

#[test]
fn a_file_that_cannot_be_opened_is_an_error() {
    assert!(UsageLog::to_file("/nowhere/usage.jsonl").is_err());
}
