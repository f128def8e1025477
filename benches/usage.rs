//! What is read of streams, answers and requests, and what is put into requests.

use std::hint::black_box;

use benches::{CONTENT_EVENTS, traffic};
use bytes::Bytes;
use criterion::{Criterion, Throughput};
use plimsoll_wire::{
    Endpoint, RequestPeek, Splice,
    reply::{Asked, StreamReader, read_answer},
};

/// The members that lead a request to its prefill worker.
const BOOTSTRAP: [(&str, &str); 3] = [
    ("bootstrap_host", "\"10.0.0.7\""),
    ("bootstrap_port", "8998"),
    ("bootstrap_room", "4611686018427387904"),
];

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    streams(&mut criterion);
    answers(&mut criterion);
    requests(&mut criterion);
    edits(&mut criterion);
    criterion.final_summary();
}

fn streams(criterion: &mut Criterion) {
    let counted = traffic::counted_content_events(CONTENT_EVENTS);
    let generate = |tokens| vec![traffic::generate_event(tokens)];
    let mut group = criterion.benchmark_group("stream_reader");
    for (name, endpoint, events) in [
        ("chat_content", Endpoint::Chat, traffic::content_events(CONTENT_EVENTS)),
        ("chat_content_with_counts", Endpoint::Chat, counted),
        ("chat_usage", Endpoint::Chat, vec![Bytes::from_static(traffic::USAGE)]),
        ("generate_at_4_tokens", Endpoint::Generate, generate(4)),
        ("generate_at_1024_tokens", Endpoint::Generate, generate(1024)),
    ] {
        group.throughput(Throughput::Elements(events.len() as u64));
        // The first event of a stream is parsed for its model; it is not what is measured.
        let mut reader = StreamReader::new(endpoint, Asked::default());
        reader.push(traffic::ROLE, |_| {});
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                for event in &events {
                    reader.push(black_box(event), |facts| _ = black_box(facts));
                }
            });
        });
    }
    group.finish();
}

fn answers(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("read_answer");
    group.throughput(Throughput::Bytes(traffic::ANSWER.len() as u64));
    group.bench_function("chat", |bencher| {
        bencher.iter(|| read_answer(Endpoint::Chat, Asked::default(), black_box(traffic::ANSWER)));
    });
    group.finish();
}

fn requests(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("request_peek");
    for (name, size) in [("1_kb", 1_000), ("100_kb", 100_000), ("1_mb", 1_000_000)] {
        let body = traffic::chat_request(size);
        group.throughput(Throughput::Bytes(body.len() as u64));
        group.bench_function(name, |bencher| {
            bencher.iter(|| RequestPeek::read(black_box(&body)));
        });
    }
    group.finish();
}

fn edits(criterion: &mut Criterion) {
    let body = traffic::chat_request(100_000);
    let peek = RequestPeek::read(&body).expect("the request is JSON");
    let mut group = criterion.benchmark_group("edit");
    group.bench_function("ask_usage_and_insert_bootstrap", |bencher| {
        bencher.iter(|| edited(&peek, black_box(&body)));
    });
    group.finish();
}

fn edited(peek: &RequestPeek, body: &Bytes) -> Splice {
    let asked = peek.with_usage_asked(body).expect("the request does not ask for counts");
    asked.insert_members(peek.open, peek.empty, &BOOTSTRAP)
}
