//! Whether the usage log keeps up: requests at a steady rate, then as many as there can be.
//!
//! ```text
//! cargo bench -p benches --bench usage_log
//! ```
//!
//! It prints the lines written and lost, and exits with 1 if any is lost at the steady rate.

use std::{env, fs, io, process, thread::sleep, time::Duration};

use benches::{
    engine::{Engine, call, read, request},
    traffic,
};
use bytes::Bytes;
use plimsoll::{MeterLayer, UsageLog};
use tokio::time::Instant;
use tower_layer::Layer;

/// Requests in a second.
const RATE: u32 = 5_000;

/// How long they come.
const SECONDS: u32 = 5;

fn main() -> io::Result<()> {
    if env::args().any(|arg| arg == "--list") {
        return Ok(());
    }
    let steady = run("steady", Some(RATE), RATE * SECONDS)?;
    run("at once", None, 100_000)?;
    process::exit(i32::from(steady > 0))
}

/// Plays requests through the layer and gives how many lines were lost.
fn run(name: &str, rate: Option<u32>, requests: u32) -> io::Result<u64> {
    let path = env::temp_dir().join(format!("plimsoll-bench-{}.jsonl", process::id()));
    let log = UsageLog::to_file(&path)?;
    let sink = log.sink();
    let engine = Engine::of_answer(Bytes::from_static(traffic::ANSWER));
    let mut service = MeterLayer::new(log.sink()).layer(engine);
    let start = Instant::now();
    for number in 0..requests {
        if let Some(due) = rate.map(|rate| Duration::from_secs(1) * number / rate) {
            sleep(due.saturating_sub(start.elapsed()));
        }
        let mut body = call(&mut service, request(traffic::chat_request(1_000)));
        read(&mut body, usize::MAX);
    }
    let took = start.elapsed().as_secs_f64();
    log.close();
    let written = fs::read_to_string(&path)?.lines().count();
    fs::remove_file(&path)?;
    let lost = sink.dropped();
    println!(
        "{name}: {requests} requests, {:.0}/s; {written} lines, {lost} lost",
        f64::from(requests) / took
    );
    assert_eq!(written as u64 + lost, u64::from(requests), "each is written or counted as lost");
    Ok(lost)
}
