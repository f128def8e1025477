use super::{EventFacts, lone_usage};
use crate::Usage;

const QUIET: EventFacts =
    EventFacts { terminal: false, error: false, text: false, usage: None, malformed: false };
const TEXT: EventFacts = EventFacts { text: true, ..QUIET };
const ERROR: EventFacts = EventFacts { error: true, ..QUIET };
const MALFORMED: EventFacts = EventFacts { malformed: true, ..QUIET };
const COUNTS: Usage = Usage { prompt: Some(7), completion: Some(3), cached: None, reasoning: None };
const USAGE: EventFacts = EventFacts { usage: Some(COUNTS), ..QUIET };

const EVENTS: [(&str, EventFacts); 15] = [
    ("[DONE]", EventFacts { terminal: true, ..QUIET }),
    (r#"{"choices":[{"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#, QUIET),
    (r#"{"choices":[{"delta":{"content":"data: [DONE]"}}],"usage":null}"#, TEXT),
    (r#"{"choices":[{"delta":{"content":"\"usage\":{"}}]}"#, TEXT),
    (r#"{"choices":[{"delta":{"content":"usage"}}]}"#, TEXT),
    (r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#, QUIET),
    (r#"{"choices":[{"delta":{},"finish_reason":"abort"}]}"#, ERROR),
    (r#"{"error":{"message":"kv transfer failed","code":500}}"#, ERROR),
    (r#"{"error": "text"}"#, ERROR),
    (r#"{"error":null,"choices":[]}"#, QUIET),
    (r#"{"choices":[],"usage" : {"prompt_tokens":7,"completion_tokens":3}}"#, USAGE),
    (
        r#"{"choices":[{"text":"x"}],"usage":{"prompt_tokens":7,"completion_tokens":3}}"#,
        EventFacts { text: true, ..USAGE },
    ),
    (r#"{"usage":"n/a"}"#, MALFORMED),
    (r#"{"usage":{"prompt_tokens":7"#, MALFORMED),
    ("not json", QUIET),
];

#[test]
fn facts_of_events() {
    for (data, want) in EVENTS {
        assert_eq!(EventFacts::read(data.as_bytes()), want, "{data}");
    }
}

#[test]
fn only_counts_without_choices_are_the_usage_event() {
    let prompt_only = Usage { completion: None, ..COUNTS };
    for (data, want) in [
        (r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}"#, Some(COUNTS)),
        (r#"{"usage": {"prompt_tokens":7}, "choices" : [ ]}"#, Some(prompt_only)),
        (r#"{"model":[1],"choices":[],"usage":{"prompt_tokens":7}}"#, Some(prompt_only)),
        (r#"{"model":"\ud800","choices":[],"usage":{"prompt_tokens":7}}"#, Some(prompt_only)),
        (r#"{"choices":[{"text":"x"}],"usage":{"prompt_tokens":7,"completion_tokens":3}}"#, None),
        (r#"{"choices":[],"usage":null}"#, None),
        (r#"{"choices":[]}"#, None),
        (r#"{"usage":{"prompt_tokens":7}}"#, None),
    ] {
        assert_eq!(lone_usage(data.as_bytes()), want, "{data}");
    }
}
