//! Whatever a request's body holds: it is read without a panic, and asking for counts adds that one
//! option and changes nothing else.

#![no_main]

use bytes::Bytes;
use libfuzzer_sys::fuzz_target;
use plimsoll_wire::{Endpoint, RequestPeek};
use serde_json::{Value, json};

fuzz_target!(|bytes: &[u8]| {
    let Ok(peek) = RequestPeek::read(bytes) else {
        // Of what serde_json takes as an object nothing is refused.
        assert!(
            !matches!(serde_json::from_slice(bytes), Ok(Value::Object(_))) || is_private(bytes)
        );
        return;
    };
    let _ = (peek.prompts(Endpoint::Completions), peek.prompts(Endpoint::Generate));
    let body = Bytes::copy_from_slice(bytes);
    let Some(asked) = peek.with_usage_asked(&body) else {
        assert!(!peek.usage_is_to_be_asked());
        return;
    };
    let asked = asked.into_bytes();
    let again = RequestPeek::read(&asked).expect("the edit keeps it an object");
    assert_eq!(again.include_usage, Some(true));
    assert!(again.with_usage_asked(&asked).is_none() && !again.empty);
    assert_eq!(
        (&again.model, again.stream, again.choices, again.steering, again.open),
        (&peek.model, peek.stream, peek.choices, peek.steering, peek.open)
    );

    // The peek does not look into what it passes over, where a value may be too deep, a number too
    // large or a text not UTF-8.
    let Ok(mut wanted) = serde_json::from_slice::<Value>(bytes) else { return };
    if is_private(bytes) {
        return;
    }
    match &mut wanted["stream_options"] {
        Value::Object(options) => _ = options.insert("include_usage".to_owned(), true.into()),
        other => *other = json!({ "include_usage": true }),
    }
    let got: Value = serde_json::from_slice(&asked).expect("the edit keeps it JSON");
    assert_eq!(got, wanted);
});

/// serde_json reads an object with this name as something else.
fn is_private(bytes: &[u8]) -> bool {
    bytes.windows(11).any(|window| window == b"$serde_json")
}
