use proptest::prelude::*;

use super::{ChatTally, LoneUsage, TEXT};
use crate::{
    Usage,
    reply::{Asked, EventFacts},
};

const QUIET: EventFacts = EventFacts { text: false, tokens: 0, ..TEXT };
const ERROR: EventFacts = EventFacts { error: true, ..QUIET };
const COUNTS: Usage = Usage { prompt: Some(7), completion: Some(3), cached: None, reasoning: None };
const USAGE: EventFacts = EventFacts { usage: Some(COUNTS), ..QUIET };
const TOKEN: &str = r#"{"choices":[{"index":0,"delta":{"content":"x"}}]}"#;

fn read(asked: Asked, events: &[&str]) -> (Vec<EventFacts>, ChatTally) {
    let mut tally = ChatTally::new(asked);
    let facts = events.iter().map(|event| tally.read(event.as_bytes())).collect();
    (facts, tally)
}

/// A choice's event with text and the counts so far.
fn continuous(index: u64, prompt: u64, completion: u64) -> String {
    format!(
        "{{\"choices\":[{{\"index\":{index},\"text\":\"x\"}}],\"usage\":{{\"prompt_tokens\":{prompt},\"completion_tokens\":{completion}}}}}"
    )
}

#[test]
fn facts_of_events() {
    for (data, want) in [
        ("[DONE]", EventFacts { terminal: true, ..QUIET }),
        (
            r#"{"choices":[{"delta":{"role":"assistant","content":""},"finish_reason":null}]}"#,
            QUIET,
        ),
        (r#"{"choices":[{"delta":{"content":"data: [DONE]"}}],"usage":null}"#, TEXT),
        (r#"{"choices":[{"delta":{"content":"\"usage\":{"}}]}"#, TEXT),
        (r#"{"choices":[{"delta":{"content":"usage"}}]}"#, TEXT),
        (r#"{"choices":[{"delta":{},"finish_reason":"length"}]}"#, QUIET),
        (r#"{"choices":[{"delta":{},"finish_reason":"abort"}]}"#, ERROR),
        (r#"{"error":{"message":"kv transfer failed","code":500}}"#, ERROR),
        (r#"{"error": "text"}"#, ERROR),
        (r#"{"object":"error","message":"too long","code":400}"#, ERROR),
        (r#"{"error":null,"choices":[]}"#, QUIET),
        (r#"{"choices":[],"usage" : {"prompt_tokens":7,"completion_tokens":3}}"#, USAGE),
        (
            r#"{"choices":[{"text":"x"}],"usage":{"prompt_tokens":7,"completion_tokens":3}}"#,
            EventFacts { usage: Some(COUNTS), ..TEXT },
        ),
        (
            r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3,"total_tokens":11}}"#,
            EventFacts { malformed: true, ..USAGE },
        ),
        (r#"{"usage":"n/a"}"#, EventFacts::MALFORMED),
        (r#"{"usage":{"total_tokens":9}}"#, EventFacts::MALFORMED),
        (r#"{"usage":{"prompt_tokens":-1,"completion_tokens":1e99}}"#, EventFacts::MALFORMED),
        (r#"{"usage":{"prompt_tokens":7"#, EventFacts::MALFORMED),
        ("not json", EventFacts::MALFORMED),
    ] {
        assert_eq!(read(Asked::default(), &[data]).0, [want], "{data}");
    }
}

#[test]
fn tokens_are_counted_by_the_best_that_an_event_lists() {
    for (choice, tokens) in [
        (r#""delta":{"content":"a b"},"logprobs":{"content":[{"token":"a"},{"token":" b"}]}"#, 2),
        (r#""text":"a b c","logprobs":{"tokens":["a"," b"," c"],"top_logprobs":null}"#, 3),
        (r#""delta":{"content":"a"},"logprobs":null,"token_ids":[1,2,3,4]"#, 4),
        (r#""delta":{"content":""},"token_ids":[1]"#, 1),
        (r#""delta":{"content":"a"},"logprobs":{"content":[]},"token_ids":null"#, 1),
        (r#""delta":{"content":"a"},"logprobs":"?""#, 1),
    ] {
        let event = format!("{{\"choices\":[{{\"index\":0,{choice}}}]}}");
        assert_eq!(read(Asked::default(), &[TOKEN, &event]).0[1].tokens, tokens, "{choice}");
    }
}

#[test]
fn an_echoed_prompt_is_no_token() {
    let events = [
        r#"{"choices":[{"index":0,"text":"the prompt","logprobs":{"tokens":["the"," prompt"]}}]}"#,
        r#"{"choices":[{"index":0,"text":"x"}]}"#,
        r#"{"choices":[{"index":1,"text":"the prompt"}]}"#,
        r#"{"choices":[{"index":0,"text":"y"}]}"#,
    ];
    let (facts, _) = read(Asked { echo: true, ..Asked::default() }, &events);
    assert_eq!(facts.iter().map(|facts| facts.tokens).collect::<Vec<_>>(), [0, 1, 0, 1]);
}

#[test]
fn the_last_counts_of_each_choice_stand() {
    let events =
        [continuous(0, 4, 1), continuous(1, 4, 1), continuous(1, 4, 2), continuous(0, 4, 3)];
    let events: Vec<_> = events.iter().map(String::as_str).collect();
    let (_, tally) = read(Asked { samples: 2, ..Asked::default() }, &events);
    let want = Usage { prompt: Some(4), completion: Some(5), ..Usage::default() };
    assert_eq!(tally.usage(), Some(want));
    assert!(tally.is_current() && !tally.is_final());
    // Two prompts instead of two samples of one.
    let (_, tally) = read(Asked { prompts: 2, ..Asked::default() }, &events);
    assert_eq!(tally.usage(), Some(Usage { prompt: Some(8), ..want }));
}

#[test]
fn counts_before_text_are_not_those_of_the_end() {
    let preview = r#"{"choices":[{"index":0,"delta":{"content":""}}],"usage":{"prompt_tokens":7,"completion_tokens":0}}"#;
    let early = r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":0}}"#;
    let late = r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}"#;
    for first in [preview, early] {
        let (_, tally) = read(Asked::default(), &[first, TOKEN]);
        assert!(!tally.is_current() && !tally.is_final(), "{first}");
        let (_, tally) = read(Asked::default(), &[first, TOKEN, late]);
        assert_eq!((tally.usage(), tally.is_final()), (Some(COUNTS), true), "{first}");
    }
}

#[test]
fn details_may_come_before_or_after_the_counts() {
    let detail =
        r#"{"choices":[],"usage":{"prompt_tokens":7,"prompt_tokens_details":{"cached_tokens":2}}}"#;
    let counts = r#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}"#;
    for events in [[detail, counts], [counts, detail]] {
        let (_, tally) = read(Asked::default(), &events);
        assert_eq!(tally.usage(), Some(Usage { cached: Some(2), ..COUNTS }), "{events:?}");
    }
}

#[test]
fn models_and_reasons_are_noted() {
    let first = r#"{"model":"m","choices":[{"index":0,"delta":{"content":"x"}}]}"#;
    let stop = |index, reason| {
        format!(r#"{{"choices":[{{"index":{index},"delta":{{}},"finish_reason":"{reason}"}}]}}"#)
    };
    let (_, tally) =
        read(Asked::default(), &[first, &stop(1, "length"), &stop(0, "stop"), "[DONE]"]);
    assert_eq!(tally.model(), Some("m"));
    assert_eq!(tally.finish_reasons().collect::<Vec<_>>(), ["stop", "length"]);
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
        let mut lone = LoneUsage::default();
        assert_eq!((lone.read(data.as_bytes()), lone.usage()), (want.is_some(), want), "{data}");
    }
    let mut lone = LoneUsage::default();
    assert!(lone.read(br#"{"choices":[],"usage":{"prompt_tokens":-1}}"#));
    assert_eq!((lone.usage(), lone.malformed()), (None, 1));
}

#[test]
fn a_usage_event_before_text_is_not_the_last_word() {
    let mut lone = LoneUsage::default();
    lone.read(br#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":0}}"#);
    assert!(lone.is_final());
    lone.read(TOKEN.as_bytes());
    assert!(!lone.is_final());
    lone.read(br#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}"#);
    assert_eq!((lone.usage(), lone.is_final()), (Some(COUNTS), true));
}

fn event(before: &str, text: &str, after: &str) -> String {
    format!("{{{before}\"choices\":[{{\"delta\":{{\"content\":{text}}}}}]{after}}}")
}

/// Each event read by a tally of its own, which knows no shape.
fn read_alone(event: &str) -> EventFacts {
    ChatTally::default().read(event.as_bytes())
}

proptest! {
    #[test]
    fn a_shape_changes_no_answer(
        events in prop::collection::vec(
            (
                prop::sample::select(vec!["", "\"id\":1,", "\"id\":2,"]),
                ".{0,6}",
                prop::sample::select(vec![
                    "", ",\"usage\":null", ",\"usage\":{\"prompt_tokens\":1}", ",\"error\":{}",
                ]),
            ),
            1..12,
        ),
    ) {
        let mut tally = ChatTally::default();
        for (before, text, after) in events {
            let data = event(before, &serde_json::to_string(&text).unwrap(), after);
            prop_assert_eq!(tally.read(data.as_bytes()), read_alone(&data));
        }
    }

    #[test]
    fn nor_for_events_that_are_no_json(text in "[\"\\\\a,:{}]{0,8}") {
        let mut tally = ChatTally::default();
        tally.read(event("", "\"x\"", "").as_bytes());
        let data = event("", &format!("\"{text}\""), "");
        let (seen, alone) = (tally.read(data.as_bytes()), read_alone(&data));
        // What holds a text is not parsed, but for the first event of a stream.
        prop_assert_eq!((seen.text, seen.tokens), (alone.text, alone.tokens));
    }
}
