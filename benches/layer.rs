//! Whole requests through the layers, over an engine without sockets.
//!
//! Each answer is a role event, the content events, the finish, the usage event and `[DONE]`. The
//! difference between a layer and `bare`, at 256 content events and at none, divides into the
//! layer's cost of an event and of a request.

use std::convert::Infallible;

use benches::{
    CONTENT_EVENTS, UPKEEP,
    engine::{self, Engine},
    traffic,
};
use bytes::Bytes;
use criterion::{BatchSize, BenchmarkGroup, Criterion, Throughput, measurement::WallTime};
use http::{Request, Response};
use http_body::Body;
use http_body_util::Full;
use plimsoll::{AmendLayer, Exporter, MeterLayer, Record, sink_fn};
use tower_layer::Layer;
use tower_service::Service;

type Group<'a> = BenchmarkGroup<'a, WallTime>;

/// Larger than any request here.
const MAX_BODY: u64 = 1 << 20;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    for content in [0, CONTENT_EVENTS] {
        let mut group = criterion.benchmark_group(format!("layer/{content}_content_events"));
        layers(&mut group, content);
        group.finish();
    }
    criterion.final_summary();
}

fn layers(group: &mut Group<'_>, content: usize) {
    let script = traffic::chat_stream(content);
    group.throughput(Throughput::Elements(script.len() as u64));
    let engine = Engine::new(script);
    let discard = MeterLayer::new(sink_fn(|_: &Record| {}));
    let amend = AmendLayer::new(MAX_BODY);
    let exporter = Exporter::new();
    let metrics = MeterLayer::new(exporter.sink());

    bench(group, "bare", engine.clone(), || {});
    bench(group, "meter_no_sink", discard.layer(engine.clone()), || {});
    bench(group, "meter_metrics", metrics.layer(engine.clone()), || {
        exporter.upkeep();
    });
    let whole = exporter.layer().layer(engine.clone());
    bench(group, "exporter_layer", whole, || exporter.upkeep());
    bench(group, "amend", amend.layer(engine.clone()), || {});
    let both = metrics.layer(amend.layer(engine));
    bench(group, "meter_metrics_amend", both, || exporter.upkeep());
}

fn bench<S, B>(group: &mut Group<'_>, name: &str, mut service: S, upkeep: impl Fn())
where
    S: Service<Request<Full<Bytes>>, Response = Response<B>, Error = Infallible>,
    B: Body<Data = Bytes, Error = Infallible> + Unpin,
{
    let body = traffic::chat_request(1_000);
    let mut requests = 0;
    group.bench_function(name, |bencher| {
        bencher.iter_batched(
            || {
                requests += 1;
                if requests % UPKEEP == 0 {
                    upkeep();
                }
                engine::request(body.clone())
            },
            |request| engine::read(&mut engine::call(&mut service, request), usize::MAX),
            BatchSize::SmallInput,
        );
    });
}
