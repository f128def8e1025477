//! Recorded answers of real engines pass unchanged, and what they say is what is counted.
//!
//! Each answer is served chunk for chunk by a scripted engine and read through the router, in front
//! of which the client is the one that was recorded: what it did not ask for, it does not get.

mod pairs;
mod plain;

use std::collections::HashMap;

use bytes::Bytes;
use plimsoll_sim::{SeenRequest, replay::Reply};

use crate::support::{
    Answer, Counts, Page, Plimsoll, Recorded, has_error, lower_bound, usage, without_usage,
};

/// The header by which a request chooses its answer.
const CAPTURE: &str = "x-capture";

/// Headers that speak of one connection: the router's are its own.
const HOP_BY_HOP: [&str; 4] = ["connection", "keep-alive", "transfer-encoding", "trailer"];

/// What the page says was counted.
#[derive(Debug, Default, PartialEq, Eq)]
struct Counted {
    prompt: u64,
    completion: u64,
    cached: u64,
    cache_reported: u64,
    reasoning: u64,
    partial: u64,
    outcomes: HashMap<String, u64>,
}

/// Answers that are chosen by name.
fn by_name(recorded: Vec<Recorded>) -> impl Fn(&SeenRequest) -> Reply + Send + Sync + 'static {
    let replies: HashMap<_, _> =
        recorded.into_iter().map(|r| (r.name.clone(), r.reply())).collect();
    move |request| {
        let name = request.header(CAPTURE).expect("the header that names an answer");
        replies.get(name).unwrap_or_else(|| panic!("no answer {name}")).clone()
    }
}

/// Sends a recorded request.
async fn ask(router: &Plimsoll, recorded: &Recorded, name: &str) -> Answer {
    router.post(recorded.path, recorded.request.clone()).header(CAPTURE, name).send().await
}

/// What is to be counted for an answer; cached tokens as the given part knows them.
fn expected(recorded: &Recorded, cached: Option<u64>) -> Counted {
    let mut counted = Counted::default();
    let outcome = match recorded.answer.status {
        400..500 => "client_error",
        500.. => "upstream_error",
        _ if !recorded.answer.complete || has_error(recorded) => "upstream_error",
        _ => "complete",
    };
    counted.outcomes.insert(outcome.to_owned(), 1);
    if recorded.answer.status != 200 {
        return counted;
    }
    if !recorded.answer.complete {
        return Counted { partial: lower_bound(recorded), ..counted };
    }
    let Some(Counts { prompt, completion, reasoning, .. }) = usage(recorded) else {
        return counted;
    };
    Counted {
        prompt,
        completion,
        cached: cached.unwrap_or(0),
        cache_reported: if cached.is_some() { prompt } else { 0 },
        reasoning: reasoning.unwrap_or(0),
        ..counted
    }
}

/// The body that the client is to get.
fn expected_body(recorded: &Recorded) -> Bytes {
    let asked = recorded.asked();
    let amended = asked["stream"] == true && recorded.path != "/generate";
    match amended && recorded.is_stream() && !recorded.asked_usage() {
        true => without_usage(&recorded.body()),
        false => recorded.body(),
    }
}

/// Status, headers and body are the engine's; a cut stream ends as the contract says.
#[track_caller]
fn assert_relayed(answer: &Answer, recorded: &Recorded) {
    let name = &recorded.name;
    assert_eq!(answer.status, recorded.answer.status, "{name}");
    let of_engine = |headers: &[(String, String)]| {
        let headers = headers.iter().map(|(key, value)| (key.to_ascii_lowercase(), value.clone()));
        let mut headers: Vec<_> =
            headers.filter(|(key, _)| !HOP_BY_HOP.contains(&key.as_str())).collect();
        headers.sort();
        headers
    };
    let mut headers = of_engine(&answer.headers);
    headers.retain(|(key, _)| key != "x-request-id");
    let mut wanted = of_engine(&recorded.answer.headers);
    if !wanted.iter().any(|(key, _)| key == "date") {
        // A server is to say the date; not every engine does.
        headers.retain(|(key, _)| key != "date");
    }
    wanted.sort();
    assert_eq!(headers, wanted, "{name}");
    assert!(answer.complete, "{name} has no clean end");
    if recorded.answer.complete {
        assert_eq!(answer.body(), expected_body(recorded), "{name}");
    } else {
        assert_cut(&answer.text(), &String::from_utf8_lossy(&recorded.body()), name);
    }
}

/// One error event after what the engine sent, and no marker of a good end.
#[track_caller]
fn assert_cut(text: &str, sent: &str, name: &str) {
    let rest = text.strip_prefix(sent).unwrap_or_else(|| panic!("{name}: {text}"));
    let closing = if sent.ends_with("\n\n") { "data: " } else { "\n\ndata: " };
    let event = rest.strip_prefix(closing).and_then(|rest| rest.strip_suffix("\n\n"));
    let event = event.unwrap_or_else(|| panic!("{name}: {rest:?}"));
    let event: serde_json::Value = serde_json::from_str(event).expect("one event of JSON");
    assert_eq!(event["error"]["code"], "upstream_error", "{name}: {event}");
    assert!(event["error"]["message"].is_string() && event["error"]["type"].is_string());
}

// === impl Counted ===

impl Counted {
    fn read(page: &Page) -> Self {
        let count = |name: &str| page.count(&format!("plimsoll_{name}_total"), &[]);
        let mut outcomes = HashMap::new();
        for sample in page.samples.iter().filter(|s| s.name == "plimsoll_requests_total") {
            *outcomes.entry(sample.labels["outcome"].clone()).or_default() += sample.value as u64;
        }
        Self {
            prompt: count("prompt_tokens"),
            completion: count("completion_tokens"),
            cached: count("cached_prompt_tokens"),
            cache_reported: count("cache_reported_prompt_tokens"),
            reasoning: count("reasoning_tokens"),
            partial: count("partial_completion_tokens"),
            outcomes,
        }
    }

    fn plus(mut self, other: Self) -> Self {
        for (outcome, count) in other.outcomes {
            *self.outcomes.entry(outcome).or_default() += count;
        }
        Self {
            prompt: self.prompt + other.prompt,
            completion: self.completion + other.completion,
            cached: self.cached + other.cached,
            cache_reported: self.cache_reported + other.cache_reported,
            reasoning: self.reasoning + other.reasoning,
            partial: self.partial + other.partial,
            outcomes: self.outcomes,
        }
    }
}
