//! Whatever a request's body holds: it is read without a panic, and an edit adds its own members
//! and changes nothing else.

use bytes::Bytes;
use plimsoll_wire::{Endpoint, RequestPeek, Splice};
use serde_json::{Map, Value, json};

/// What SGLang's legs are told.
const MEETING: [(&str, &str); 3] =
    [("bootstrap_host", "\"p\""), ("bootstrap_port", "8998"), ("bootstrap_room", "[1,2]")];

/// What vLLM's prefill leg is told.
const ONE_TOKEN: [(&str, &str); 2] = [("stream", "false"), ("max_tokens", "1")];

/// # Panics
///
/// If it does not hold.
pub fn check(bytes: &[u8]) {
    let Ok(peek) = RequestPeek::read(bytes) else {
        // Of what serde_json takes as an object nothing is refused.
        assert!(
            !matches!(serde_json::from_slice(bytes), Ok(Value::Object(_))) || is_private(bytes)
        );
        return;
    };
    let _ = (peek.prompts(Endpoint::Completions), peek.prompts(Endpoint::Generate));
    let body = Bytes::copy_from_slice(bytes);
    if let Ok(Value::Object(before)) = serde_json::from_slice(bytes) {
        if !is_private(bytes) {
            meets(&peek, &body, &before);
        }
    }
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

    // The peek does not look into what it passes over, where a value may be too deep or a number too
    // large.
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
}

/// What the legs of a pair are sent: the same members, and ours.
fn meets(peek: &RequestPeek, body: &Bytes, before: &Map<String, Value>) {
    let value = |text: &str| serde_json::from_str::<Value>(text).expect("it is JSON");
    // Who steers is refused: members of these names are the client's own.
    if peek.steering.is_none() {
        let sent = Splice::from(body.clone()).insert_members(peek.open, peek.empty, &MEETING);
        let mut wanted = before.clone();
        wanted.extend(MEETING.map(|(name, text)| (name.to_owned(), value(text))));
        let got: Map<_, _> = serde_json::from_slice(&sent.into_bytes()).expect("it stays JSON");
        assert_eq!(got, wanted);
    }
    let sent = Splice::from(body.clone()).replace_members(&["stream_options"], &ONE_TOKEN);
    let mut wanted = before.clone();
    wanted.remove("stream_options");
    wanted.extend(ONE_TOKEN.map(|(name, text)| (name.to_owned(), value(text))));
    let got: Map<_, _> = serde_json::from_slice(&sent.into_bytes()).expect("it stays JSON");
    assert_eq!(got, wanted);
}

/// serde_json reads an object with this name as something else.
fn is_private(bytes: &[u8]) -> bool {
    bytes.windows(11).any(|window| window == b"$serde_json")
}
