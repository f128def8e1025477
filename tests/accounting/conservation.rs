//! Random traffic: each request is one line, and the lines, the page, the replies and the engines
//! say the same.

use std::{collections::BTreeMap, time::Duration};

use futures_util::{StreamExt, stream};
use plimsoll_sim::{Fault, FaultAction, SimConfig, SimEngine};
use serde_json::Value;
use tokio::time::sleep;

use super::{CHAT, exact};
use crate::support::{Answer, Log, Page, Plimsoll, bounded, chat, sim, sim_pair};

/// One client's request.
#[derive(Clone, Debug)]
struct Ask {
    path: &'static str,
    body: String,
    /// It leaves after so long.
    stay: Option<Duration>,
}

/// What a client was told of its request, where that is whole: prompt and completion tokens.
type Got = Option<(u64, u64)>;

/// The same of all clients, by the id of the request.
type Told = BTreeMap<String, Got>;

const REQUESTS: usize = 60;

impl Ask {
    fn random(random: &mut fastrand::Rng, may_leave: bool) -> Self {
        let tokens = random.u32(1..30);
        let stream = random.bool();
        let usage = if stream && random.bool() {
            ",\"stream_options\":{\"include_usage\":true}"
        } else {
            ""
        };
        let words = ["one", "two three", "a b c d"];
        let prompts: Vec<_> =
            (0..random.usize(1..4)).map(|n| format!("\"{}\"", words[n])).collect();
        let list = format!("[{}]", prompts.join(","));
        let (path, body) = match random.u32(..4) {
            0 => (
                "/v1/completions",
                format!("{{\"prompt\":{list},\"max_tokens\":{tokens},\"stream\":{stream}{usage}}}"),
            ),
            1 => (
                "/generate",
                format!(
                    "{{\"text\":{list},\"sampling_params\":{{\"max_new_tokens\":{tokens}}},\"stream\":{stream}}}"
                ),
            ),
            2 => (
                "/v1/completions",
                format!(
                    "{{\"prompt\":\"one\",\"max_tokens\":{tokens},\"stream\":{stream}{usage}}}"
                ),
            ),
            _ => (CHAT, chat(&format!(",\"max_tokens\":{tokens},\"stream\":{stream}{usage}"))),
        };
        let leaves = may_leave && random.u32(..3) == 0;
        let stay = leaves.then(|| Duration::from_millis(random.u64(..60)));
        Self { path, body, stay }
    }

    /// Sends it; gives what its reply states, if it stayed for it.
    async fn send(self, router: &Plimsoll, id: &str) -> Got {
        let call = router.post(self.path, self.body.clone()).header("x-request-id", id);
        let client = call.open().await;
        match self.stay {
            None => stated(&client.rest().await, self.path),
            Some(stay) => {
                sleep(stay).await;
                drop(client);
                None
            }
        }
    }
}

/// What a whole reply states of its own tokens; streams that were not asked state nothing.
fn stated(answer: &Answer, path: &str) -> Got {
    let text = answer.text();
    if text.contains("data: ") && !text.ends_with("data: [DONE]\n\n") {
        return None;
    }
    let events = text.lines().filter_map(|line| line.strip_prefix("data: "));
    let events: Vec<Value> = match answer.header("content-type")?.starts_with("text/event-stream") {
        true => events.filter_map(|event| serde_json::from_str(event).ok()).collect(),
        false => serde_json::from_str(&text).into_iter().collect(),
    };
    if path != "/generate" {
        let usage = events.iter().rev().find_map(|event| event["usage"].as_object())?;
        return Some((usage["prompt_tokens"].as_u64()?, usage["completion_tokens"].as_u64()?));
    }
    let mut last = BTreeMap::new();
    for (place, event) in events.iter().flat_map(|event| match event {
        Value::Array(all) => (0..).zip(all).collect(),
        one => vec![(one["index"].as_u64().unwrap_or(0), one)],
    }) {
        let meta = &event["meta_info"];
        last.insert(place, (meta["prompt_tokens"].as_u64()?, meta["completion_tokens"].as_u64()?));
    }
    last.into_values().reduce(|a, b| (a.0 + b.0, a.1 + b.1))
}

/// The page says what the lines say, and each line what its client was told.
#[track_caller]
fn assert_agree(page: &Page, lines: &[Value], told: &Told, seed: u64) {
    let (mut prompt, mut completion, mut partial) = (0, 0, 0);
    for line in lines {
        let (more_prompt, more_completion) = exact(line).unwrap_or_default();
        prompt += more_prompt;
        completion += more_completion;
        partial += line["lower_bound"]["completion"].as_u64().unwrap_or(0);
        let labels = ["outcome", "completeness"].map(|name| line[name].as_str().expect("a word"));
        let of = |wanted: &str, value: &str| {
            lines.iter().filter(|line| line[wanted].as_str() == Some(value)).count() as u64
        };
        assert_eq!(page.outcomes(labels[0]), of("outcome", labels[0]), "seed {seed}");
        let usage = page.count("plimsoll_usage_total", &[("completeness", labels[1])]);
        assert_eq!(usage, of("completeness", labels[1]), "seed {seed}");
    }
    let counted = ["prompt_tokens", "completion_tokens", "partial_completion_tokens"]
        .map(|name| page.count(&format!("plimsoll_{name}_total"), &[]));
    assert_eq!(counted, [prompt, completion, partial], "seed {seed}\n{page}");
    assert_eq!(page.count("plimsoll_requests_in_flight", &[]), 0, "seed {seed}");
    let mut ids: Vec<_> = lines.iter().map(|line| line["id"].as_str().expect("an id")).collect();
    ids.sort_unstable();
    assert!(ids.iter().eq(told.keys()), "seed {seed}: one line each");
    for line in lines {
        let reply = told[line["id"].as_str().expect("an id")];
        // Not asked, a stream tells its client nothing; told nothing, a client left or was failed.
        assert!(reply.is_none() || reply == exact(line), "seed {seed}: {reply:?} {line}");
    }
}

async fn traffic(router: &Plimsoll, random: &mut fastrand::Rng, may_leave: bool) -> Told {
    let asks: Vec<_> = (0..REQUESTS).map(|_| Ask::random(random, may_leave)).collect();
    let sent = asks.into_iter().enumerate().map(|(number, ask)| async move {
        let id = format!("r-{number}");
        let got = ask.send(router, &id).await;
        (id, got)
    });
    stream::iter(sent).buffer_unordered(16).collect().await
}

fn sum(pairs: impl Iterator<Item = (u64, u64)>) -> (u64, u64) {
    pairs.fold((0, 0), |sum, pair| (sum.0 + pair.0, sum.1 + pair.1))
}

fn config() -> SimConfig {
    SimConfig { token_interval: Duration::from_millis(1), ..SimConfig::default() }
}

/// Nobody leaves and nothing fails: all four agree to the token.
#[tokio::test]
async fn of_whole_requests() {
    for seed in 0..3 {
        bounded(async {
            let (log, mut random) = (Log::new(), fastrand::Rng::with_seed(seed));
            let (router, _prefill, decode) = sim_pair(config(), &log.flag()).await;
            let told = traffic(&router, &mut random, false).await;
            let page = router.settled(REQUESTS as u64).await;
            let lines = log.wait(REQUESTS).await;
            assert_agree(&page, &lines, &told, seed);
            assert_eq!(page.outcomes("complete"), REQUESTS as u64, "seed {seed}");
            let totals = decode.totals();
            let counted = sum(lines.iter().filter_map(exact));
            assert_eq!(counted, (totals.prompt_tokens, totals.generation_tokens), "seed {seed}");
            let quiet = told.values().filter(|got| got.is_none()).count();
            let streams = lines.iter().filter(|line| line["stream"] == true).count();
            assert!(quiet < streams, "seed {seed}: {quiet} of {streams} told nothing");
        })
        .await;
    }
}

/// What an engine does to one request in some.
fn faults(engine: &SimEngine) {
    for (skip, action) in [
        (3, FaultAction::CutAfterEvents(4)),
        (5, FaultAction::TruncateAfterEvents(3)),
        (7, FaultAction::ErrorEventAfter(2)),
        (9, FaultAction::ResetBeforeHead),
        (11, FaultAction::GarbageBody),
        (13, FaultAction::Status { code: 503, headers: Vec::new(), body: "{}".into() }),
        (15, FaultAction::CutAfterEvents(1)),
    ] {
        engine.faults().push(Fault::once(action).skip(skip));
    }
}

/// Clients leave and engines fail: each request is one line still, the page is the sum of the lines,
/// and of requests that were whole the counts are those of the engine.
#[tokio::test]
async fn of_requests_of_every_fate() {
    for seed in 10..14 {
        bounded(async {
            let (log, mut random) = (Log::new(), fastrand::Rng::with_seed(seed));
            let drain = if seed % 2 == 0 { "" } else { "--on-disconnect drain" };
            let flags = format!("{} {drain}", log.flag());
            // The prefill engine, where there is one, lives as long as the test.
            let (router, engine, _prefill) = if seed < 12 {
                let engine = sim(config()).await;
                let line = format!("--worker-urls {} {flags}", engine.url());
                (Plimsoll::start(&line).await, engine, None)
            } else {
                let (router, prefill, decode) = sim_pair(config(), &flags).await;
                (router, decode, Some(prefill))
            };
            faults(&engine);
            let told = traffic(&router, &mut random, true).await;
            let page = router.settled(REQUESTS as u64).await;
            let lines = log.wait(REQUESTS).await;
            assert_agree(&page, &lines, &told, seed);
            let totals = engine.wait_for(|totals| totals.open == 0).await;
            // An engine's error may come with counts of what it then did not count as finished; and
            // what it finished for a client that left is in no exact line.
            let complete = lines.iter().filter(|line| line["outcome"] == "complete");
            let counted = sum(complete.filter_map(exact));
            let engines = (totals.prompt_tokens, totals.generation_tokens);
            let others = lines.iter().filter(|line| line["outcome"] != "complete").count() as u64;
            assert!(counted.0 <= engines.0 && counted.1 <= engines.1, "seed {seed}");
            assert!(engines.1 - counted.1 <= others * 3 * 30, "seed {seed}: {engines:?}");
            let outcomes = ["complete", "upstream_error", "client_disconnect"];
            assert!(outcomes.iter().all(|outcome| page.outcomes(outcome) > 0), "{page}");
        })
        .await;
    }
}
