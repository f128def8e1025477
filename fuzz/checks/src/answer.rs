//! Whatever an answer holds: its counts and its model are those that `serde_json` finds there.

use plimsoll_wire::{
    Endpoint, Usage,
    reply::{Answer, Asked, read_answer},
};
use serde_json::Value;

/// # Panics
///
/// If it does not hold.
pub fn check(bytes: &[u8]) {
    for endpoint in Endpoint::ALL {
        let _ = read_answer(endpoint, Asked::default(), bytes);
    }
    let Ok(value @ Value::Object(_)) = serde_json::from_slice::<Value>(bytes) else { return };
    // Written anew no member is there twice; of two it is open which one counts.
    let text = serde_json::to_vec(&value).expect("a value is JSON");
    for endpoint in [Endpoint::Chat, Endpoint::Completions] {
        is_of(&read_answer(endpoint, Asked::default(), &text), &value);
    }
}

fn is_of(answer: &Answer, value: &Value) {
    if let Some(model) = &answer.model {
        assert_eq!(Some(model.as_str()), value["model"].as_str());
    }
    let stated = &value["usage"];
    let names = ["prompt_tokens", "completion_tokens", "input_tokens", "output_tokens"];
    let counts = names.map(|name| count(&stated[name]));
    let Usage { prompt, completion, .. } = answer.usage.unwrap_or_default();
    assert!(prompt.is_none() || counts[0] == prompt || counts[2] == prompt, "{answer:?} {stated}");
    assert!(
        completion.is_none() || counts[1] == completion || counts[3] == completion,
        "{answer:?} {stated}"
    );
    let is_plain = stated.as_object().is_some_and(|usage| usage.len() == 2);
    // What no engine can have counted is not taken for a count.
    let counts = counts.map(|count| count.filter(|count| *count <= u64::from(u32::MAX)));
    if let (true, [Some(input), Some(output), ..]) = (is_plain, counts) {
        assert_eq!((prompt, completion), (Some(input), Some(output)), "{stated}");
    }
}

/// A count as engines write it: a number without a fraction, perhaps as a text.
fn count(value: &Value) -> Option<u64> {
    let number = value.as_f64().or_else(|| value.as_str()?.parse().ok())?;
    let whole = number as u64;
    (whole as f64 == number).then_some(value.as_u64().unwrap_or(whole))
}
