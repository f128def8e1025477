//! Instructions of the hot paths, counted by valgrind's callgrind. They hardly depend on what else
//! the machine does, so a change of one in a hundred shows.
//!
//! With `--check` it fails where a case takes more than a tenth more than in `baseline.txt`, and with
//! `--save` it writes that file.
//!
//! Run plainly, this runs itself under valgrind, twice for each case: the work done so many times,
//! and so many times more. The difference, divided, is the cost of doing it once: what only the first
//! time costs cancels out. What the kernel does is not counted, nor, so, most of reading the clock.

mod baseline;

use std::{
    convert::Infallible,
    env,
    hint::black_box,
    process::{Command, ExitCode},
};

use benches::{
    CONTENT_EVENTS,
    engine::{self, Engine},
    traffic,
};
use bytes::Bytes;
use http::{Request, Response};
use http_body::Body;
use http_body_util::Full;
use plimsoll::{AmendLayer, Exporter, MeterLayer};
use plimsoll_wire::{
    Endpoint, RequestPeek,
    reply::{Asked, StreamReader, read_answer},
};
use tower_layer::Layer;
use tower_service::Service;

use self::baseline::Baseline;

/// One thing that is done again and again.
struct Case {
    name: &'static str,
    /// What is done once: its unit in the table.
    of: &'static str,
    /// The case, further up, that does all but what is of interest.
    without: Option<&'static str>,
    /// Does it so many times.
    run: fn(usize),
}

/// How often the work is done in the two runs: a multiple of the number of different tokens.
const COUNTS: [usize; 2] = [1_000, 3_000];

/// Larger than any request here.
const MAX_BODY: u64 = 1 << 20;

/// The argument that leads from the plain run to the one under valgrind: a case and a count follow.
const CHILD: &str = "--run-case";

/// Counts only within [`counted`]: what is made before takes instructions by the clock, and so
/// differs from run to run.
const ONLY_COUNTED: &str = "--toggle-collect=*instructions::counted*";

/// The exit code of a run that gives no figures: there is no valgrind, or a case fails.
const NO_FIGURES: u8 = 2;

const CASES: [Case; 14] = [
    Case::new("stream_reader/chat_content", "event", |count| {
        read_events(Endpoint::Chat, &traffic::content_events(CONTENT_EVENTS), count);
    }),
    Case::new("stream_reader/generate_at_4_tokens", "event", |count| {
        read_events(Endpoint::Generate, &[traffic::generate_event(4)], count);
    }),
    Case::new("stream_reader/generate_at_1024_tokens", "event", |count| {
        read_events(Endpoint::Generate, &[traffic::generate_event(1024)], count);
    }),
    Case::new("stream_reader/responses_content", "event", |count| {
        read_events(Endpoint::Responses, &traffic::responses_events(CONTENT_EVENTS), count);
    }),
    Case::new("stream_reader/messages_content", "event", |count| {
        read_events(Endpoint::Messages, &traffic::messages_events(CONTENT_EVENTS), count);
    }),
    Case::new("read_answer/chat", "answer", |count| {
        counted(&mut || {
            for _ in 0..count {
                let answer = black_box(traffic::ANSWER);
                _ = black_box(read_answer(Endpoint::Chat, Asked::default(), answer));
            }
        });
    }),
    Case::new("request_peek/1_kb", "request", peek_requests),
    Case::new("stream/bare", "event", |count| read_stream(streaming(), count)),
    Case::new("stream/meter_metrics", "event", |count| {
        read_stream(MeterLayer::new(Exporter::new().sink()).layer(streaming()), count);
    })
    .without("stream/bare"),
    Case::new("stream/amend", "event", |count| {
        read_stream(AmendLayer::new(MAX_BODY).layer(streaming()), count);
    })
    .without("stream/bare"),
    Case::new("stream/meter_metrics_amend", "event", |count| {
        let amended = AmendLayer::new(MAX_BODY).layer(streaming());
        read_stream(MeterLayer::new(Exporter::new().sink()).layer(amended), count);
    })
    .without("stream/bare"),
    Case::new("answer/bare", "request", |count| read_answers(answering(), count)),
    Case::new("answer/meter_metrics", "request", |count| {
        read_answers(MeterLayer::new(Exporter::new().sink()).layer(answering()), count);
    })
    .without("answer/bare"),
    Case::new("answer/exporter_layer", "request", |count| {
        read_answers(Exporter::new().layer().layer(answering()), count);
    })
    .without("answer/bare"),
];

fn main() -> ExitCode {
    let arguments: Vec<_> = env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        [CHILD, name, count] => run_case(name, count),
        ref arguments if arguments.contains(&"--list") => {
            CASES.iter().for_each(|case| println!("{}: benchmark", case.name));
            ExitCode::SUCCESS
        }
        ref arguments => match table().and_then(|costs| judge(&costs, arguments)) {
            Ok(code) => code,
            Err(failure) => {
                eprintln!("{failure}");
                ExitCode::from(NO_FIGURES)
            }
        },
    }
}

/// Does with the figures what was asked for.
fn judge(costs: &Baseline, arguments: &[&str]) -> Result<ExitCode, String> {
    if arguments.contains(&"--save") {
        costs.write()?;
    }
    if arguments.contains(&"--check") {
        let grown = Baseline::read()?.grown(costs);
        if !grown.is_empty() {
            eprint!("{grown}");
            return Ok(ExitCode::FAILURE);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The run under valgrind.
fn run_case(name: &str, count: &str) -> ExitCode {
    let case = CASES.iter().find(|case| case.name == name);
    let (Some(case), Ok(count)) = (case, count.parse()) else {
        return ExitCode::FAILURE;
    };
    (case.run)(count);
    ExitCode::SUCCESS
}

/// Runs every case, prints what each costs, and gives it.
fn table() -> Result<Baseline, String> {
    let version = Command::new("valgrind").arg("--version").output();
    version.map_err(|error| {
        format!("valgrind does not run ({error}): install it, `apt-get install valgrind`")
    })?;
    let mut costs = Baseline::default();
    println!("| case | instructions | without the rest | of one |");
    println!("|---|---|---|---|");
    for Case { name, of, without, .. } in &CASES {
        let [few, many] = COUNTS.map(|count| instructions(name, count));
        let cost = (many? as f64 - few? as f64) / (COUNTS[1] - COUNTS[0]) as f64;
        let rest = without.and_then(|name| costs.get(name));
        let own = rest.map(|rest| format!("{:.0}", cost - rest)).unwrap_or_default();
        println!("| `{name}` | {cost:.0} | {own} | {of} |");
        costs.note(name, cost);
    }
    Ok(costs)
}

/// All the instructions that the work of a case takes, done so many times.
fn instructions(name: &str, count: usize) -> Result<u64, String> {
    let own = env::current_exe().map_err(|error| format!("this program is not found: {error}"))?;
    let output = Command::new("valgrind")
        .args(["--tool=callgrind", "--callgrind-out-file=/dev/null", ONLY_COUNTED])
        .arg(own)
        .args([CHILD, name, &count.to_string()])
        .output();
    let output = output.map_err(|error| format!("valgrind does not run: {error}"))?;
    let said = String::from_utf8_lossy(&output.stderr);
    let collected = said.lines().find_map(|line| line.split_once("Collected : "));
    let total = collected.and_then(|(_, count)| count.trim().parse().ok());
    let total = total.filter(|&total| output.status.success() && total > 0);
    total.ok_or_else(|| format!("{name} failed: {said}"))
}

/// Does what is counted.
#[inline(never)]
fn counted(work: &mut dyn FnMut()) {
    work();
    // Not a jump: the count ends where this function returns.
    black_box(());
}

/// Reads so many events of a stream that has begun.
fn read_events(endpoint: Endpoint, events: &[Bytes], count: usize) {
    let mut reader = StreamReader::new(endpoint, Asked::default());
    counted(&mut || {
        for event in events.iter().cycle().take(count) {
            reader.push(black_box(event), |facts| _ = black_box(facts));
        }
    });
    assert_eq!(reader.malformed(), 0, "the events are read");
}

fn peek_requests(count: usize) {
    let body = traffic::chat_request(1_000);
    counted(&mut || {
        for _ in 0..count {
            _ = black_box(RequestPeek::read(black_box(&body)));
        }
    });
}

/// Reads so many frames of one stream, then drops it.
fn read_stream<S, B>(mut service: S, count: usize)
where
    S: Service<Request<Full<Bytes>>, Response = Response<B>, Error = Infallible>,
    B: Body<Data = Bytes, Error = Infallible> + Unpin,
{
    let mut answer = engine::call(&mut service, engine::request(traffic::chat_request(1_000)));
    let mut frames = 0;
    counted(&mut || frames = engine::read(&mut answer, count));
    assert_eq!(frames, count, "there are as many frames");
}

/// Makes so many requests and reads the answer to each.
fn read_answers<S, B>(mut service: S, count: usize)
where
    S: Service<Request<Full<Bytes>>, Response = Response<B>, Error = Infallible>,
    B: Body<Data = Bytes, Error = Infallible> + Unpin,
{
    let body = traffic::chat_request(1_000);
    counted(&mut || {
        for _ in 0..count {
            let request = engine::request(body.clone());
            engine::read(&mut engine::call(&mut service, request), usize::MAX);
        }
    });
}

/// The same length for every count, so that making it cancels out.
fn streaming() -> Engine {
    Engine::new(traffic::chat_stream(COUNTS[1]))
}

fn answering() -> Engine {
    Engine::of_answer(Bytes::from_static(traffic::ANSWER))
}

// === impl Case ===

impl Case {
    const fn new(name: &'static str, of: &'static str, run: fn(usize)) -> Self {
        Self { name, of, without: None, run }
    }

    const fn without(self, name: &'static str) -> Self {
        Self { without: Some(name), ..self }
    }
}
