//! How cost grows with the sets of labels: a request's when there are so many models, and the page's.

use benches::{
    UPKEEP,
    engine::{self, Engine},
    traffic,
};
use bytes::Bytes;
use criterion::{Criterion, Throughput};
use plimsoll::Exporter;
use tower_layer::Layer;

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    for models in [1, 100, 1_000] {
        labels(&mut criterion, models);
    }
    criterion.final_summary();
}

/// Each model in turn, all of them known before the first that counts.
fn labels(criterion: &mut Criterion, models: usize) {
    let exporter = Exporter::builder().max_models(models).build();
    let layer = exporter.layer();
    let mut services: Vec<_> =
        (0..models).map(|model| layer.layer(Engine::of_answer(answer(model)))).collect();
    let request = traffic::chat_request_for_an_answer(1_000);
    let mut ask = |number: usize| {
        if number % UPKEEP == 0 {
            exporter.upkeep();
        }
        let request = engine::request(request.clone());
        engine::read(&mut engine::call(&mut services[number % models], request), usize::MAX)
    };
    (0..models).for_each(|number| {
        ask(number);
    });
    exporter.upkeep();
    let page = exporter.page();

    let mut group = criterion.benchmark_group(format!("labels/{models}_models"));
    let mut number = 0;
    group.bench_function("request", |bencher| {
        bencher.iter(|| {
            number += 1;
            ask(number)
        });
    });
    exporter.upkeep();
    group.throughput(Throughput::Elements(page.lines().count() as u64));
    group.bench_function("page", |bencher| bencher.iter(|| exporter.page()));
    group.finish();
}

fn answer(model: usize) -> Bytes {
    let text = String::from_utf8_lossy(traffic::ANSWER);
    text.replacen("tiny-llama", &format!("tiny-llama-{model}"), 1).into()
}
