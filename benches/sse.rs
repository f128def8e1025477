//! [`SseScanner::push`] over one chat stream, by how the network cut it.

use std::hint::black_box;

use benches::{CONTENT_EVENTS, traffic};
use bytes::Bytes;
use criterion::{Criterion, Throughput};
use plimsoll_wire::sse::SseScanner;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    sse(&mut criterion);
    criterion.final_summary();
}

fn sse(criterion: &mut Criterion) {
    let events = traffic::content_events(CONTENT_EVENTS);
    let mut group = criterion.benchmark_group("sse");
    group.throughput(Throughput::Elements(CONTENT_EVENTS as u64));
    for (name, pieces) in [
        ("an_event_a_piece", events.clone()),
        // About three pieces to each event, so that none lies whole in one.
        ("pieces_of_100_bytes", traffic::cut(&events, 100)),
        ("pieces_of_16_kib", traffic::cut(&events, 16 << 10)),
    ] {
        group.bench_function(name, |bencher| {
            bencher.iter(|| assert_eq!(scan(&pieces), CONTENT_EVENTS));
        });
    }
    group.finish();
}

fn scan(pieces: &[Bytes]) -> usize {
    let mut scanner = SseScanner::default();
    let mut events = 0;
    for piece in pieces {
        scanner.push(piece, |event| {
            black_box(event.data);
            events += 1;
        });
    }
    events
}
