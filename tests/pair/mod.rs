//! A prefill/decode pair: whose answer the client gets, what is counted, and what a failure of
//! either leg does to the other.

mod counts;
mod failures;
mod reported;
mod streams;
mod tail;

use serde_json::Value;

use crate::support::Answer;

const CHAT: &str = "/v1/chat/completions";

/// The JSON of an answer, or of each event of a stream.
fn events(answer: &Answer) -> Vec<Value> {
    let text = answer.text();
    if !answer.header("content-type").is_some_and(|kind| kind.starts_with("text/event-stream")) {
        return vec![answer.json()];
    }
    let data = text.split("\n\n").filter_map(|event| event.strip_prefix("data: "));
    data.filter_map(|data| serde_json::from_str(data).ok()).collect()
}

/// The `error` of a stream's last event, which ends it: no marker comes after it.
#[track_caller]
fn last_error(answer: &Answer) -> Value {
    let text = answer.text();
    assert!(answer.complete && !text.contains("[DONE]"), "{text}");
    let last = events(answer).pop().expect("an event");
    assert!(last["error"]["message"].is_string() && text.ends_with("}\n\n"), "{text}");
    last["error"].clone()
}
