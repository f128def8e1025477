//! What a recorded answer says, read slowly and without the crates under test.

use std::collections::BTreeMap;

use bytes::Bytes;
use serde_json::Value;

use super::captures::Recorded;

/// Token counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub(crate) prompt: u64,
    pub(crate) completion: u64,
    pub(crate) cached: Option<u64>,
    pub(crate) reasoning: Option<u64>,
}

/// The answer's events as JSON, the terminal marker and broken ones left out; an answer that is no
/// stream is one.
fn events(recorded: &Recorded) -> Vec<Value> {
    let body = recorded.body();
    if !recorded.is_stream() {
        return serde_json::from_slice(&body).into_iter().collect();
    }
    let body = String::from_utf8_lossy(&body);
    let data = body.split("\n\n").filter_map(|event| event.strip_prefix("data: "));
    data.filter_map(|data| serde_json::from_str(data).ok()).collect()
}

/// The counts the answer ends with.
pub(crate) fn usage(recorded: &Recorded) -> Option<Counts> {
    if recorded.path == "/generate" {
        return generate_usage(&events(recorded));
    }
    // The event without choices speaks for all; where there is none, each choice's last one does.
    let mut last = BTreeMap::new();
    for event in events(recorded).into_iter().filter(|event| event["usage"].is_object()) {
        last.insert(event["choices"][0]["index"].as_u64(), event["usage"].clone());
    }
    let stated = match last.remove(&None) {
        Some(whole) => vec![whole],
        None => last.into_values().collect(),
    };
    let sum = |count: &dyn Fn(&Value) -> Option<u64>| stated.iter().map(count).sum();
    (!stated.is_empty()).then_some(())?;
    Some(Counts {
        prompt: sum(&|usage| usage["prompt_tokens"].as_u64())?,
        completion: sum(&|usage| usage["completion_tokens"].as_u64())?,
        cached: sum(&|usage| usage["prompt_tokens_details"]["cached_tokens"].as_u64()),
        reasoning: sum(&|usage| {
            let details = &usage["completion_tokens_details"]["reasoning_tokens"];
            details.as_u64().or(usage["reasoning_tokens"].as_u64())
        }),
    })
}

/// Of each prompt the last `meta_info`, all prompts together.
fn generate_usage(events: &[Value]) -> Option<Counts> {
    let all = events.iter().flat_map(|event| match event {
        Value::Array(answers) => answers.iter().enumerate().collect(),
        answer => vec![(answer["index"].as_u64().unwrap_or(0) as usize, answer)],
    });
    let mut last = BTreeMap::new();
    for (index, answer) in all.filter(|(_, answer)| answer["meta_info"].is_object()) {
        last.insert(index, &answer["meta_info"]);
    }
    let sum = |name: &str| last.values().map(|meta| meta[name].as_u64()).sum::<Option<u64>>();
    (!last.is_empty()).then_some(())?;
    Some(Counts {
        prompt: sum("prompt_tokens")?,
        completion: sum("completion_tokens")?,
        cached: sum("cached_tokens"),
        reasoning: sum("reasoning_tokens"),
    })
}

/// The answer holds an error of the engine.
pub(crate) fn has_error(recorded: &Recorded) -> bool {
    events(recorded).iter().any(|event| {
        let mut choices = event["choices"].as_array().into_iter().flatten();
        event["error"].is_object()
            || event["meta_info"]["finish_reason"]["type"] == "abort"
            || choices.any(|choice| choice["finish_reason"] == "abort")
    })
}

/// How many tokens a broken stream proves: its last count, else its events with text.
pub(crate) fn lower_bound(recorded: &Recorded) -> u64 {
    let has_text = |event: &&Value| {
        let choice = &event["choices"][0];
        let delta = &choice["delta"];
        let texts =
            [&choice["text"], &delta["content"], &delta["reasoning_content"], &delta["reasoning"]];
        texts.into_iter().any(|text| text.as_str().is_some_and(|text| !text.is_empty()))
    };
    let counted = usage(recorded).map(|usage| usage.completion);
    counted.unwrap_or_else(|| events(recorded).iter().filter(has_text).count() as u64)
}

/// The stream without the event that holds nothing but usage.
pub(crate) fn without_usage(body: &Bytes) -> Bytes {
    let body = std::str::from_utf8(body).expect("text");
    let is_usage = |event: &str| {
        let data = event.trim_end().strip_prefix("data: ").unwrap_or_default();
        let event: Value = serde_json::from_str(data).unwrap_or_default();
        event["choices"].as_array().is_some_and(Vec::is_empty) && event["usage"].is_object()
    };
    body.split_inclusive("\n\n").filter(|event| !is_usage(event)).collect::<String>().into()
}

/// A stream without what each has of its own.
pub(crate) fn common(text: &str) -> String {
    let mut text = text.to_owned();
    for (name, end) in [("\"id\":\"", '"'), ("\"created\":", ',')] {
        let mut parts = text.split(name);
        let mut common = parts.next().unwrap_or_default().to_owned();
        for part in parts {
            common.push_str(name);
            common.push_str(part.find(end).map_or("", |end| &part[end..]));
        }
        text = common;
    }
    text
}
