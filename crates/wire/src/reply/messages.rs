//! Anthropic's Messages API: what was read comes with the start, what was written with the end.

use std::borrow::Cow;

use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

use super::{EventFacts, facts::has_text};
use crate::{
    Usage,
    lenient::{self, Lenient},
    usage::{Stated, UsageField},
};

/// What a stream of events has stated so far. The counts of `message_delta` are cumulative, and
/// those that it leaves out stand as `message_start` has them.
#[derive(Debug, Default)]
pub(super) struct MessagesTally {
    model: Option<String>,
    stated: Option<Stated>,
    stop_reason: Option<String>,
    /// Text came after the last count of what was written.
    stale: bool,
}

#[derive(Deserialize)]
struct Event<'a> {
    #[serde(borrow, rename = "type", default)]
    kind: Cow<'a, str>,
    #[serde(default, deserialize_with = "lenient::object")]
    message: Lenient<Option<Message>>,
    #[serde(borrow, default)]
    delta: Option<&'a RawValue>,
    #[serde(borrow, default)]
    content_block: Option<&'a RawValue>,
    #[serde(default)]
    usage: UsageField,
    #[serde(default)]
    error: Option<IgnoredAny>,
}

/// The members of a message that are ever looked at.
#[derive(Deserialize)]
struct Message {
    #[serde(default)]
    model: Lenient<Option<String>>,
    #[serde(default)]
    usage: UsageField,
}

/// A piece of a block, or the beginning of one, or the end of the message.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Piece<'a> {
    #[serde(borrow)]
    text: Option<&'a RawValue>,
    #[serde(borrow)]
    thinking: Option<&'a RawValue>,
    #[serde(borrow)]
    partial_json: Option<&'a RawValue>,
    /// Of the tool that a block calls.
    #[serde(borrow)]
    name: Option<&'a RawValue>,
    stop_reason: Option<String>,
}

// === impl MessagesTally ===

impl MessagesTally {
    pub(super) fn read(&mut self, data: &[u8]) -> EventFacts {
        if EventFacts::done(data).is_some() {
            // Some gateways add it behind the event that is the end.
            return EventFacts::default();
        }
        let Some(event) = lenient::whole_object::<Event<'_>>(data) else {
            return EventFacts::MALFORMED;
        };
        let piece = event.delta.or(event.content_block);
        let piece = piece.and_then(|raw| lenient::whole_object::<Piece<'_>>(raw.get().as_bytes()));
        let text =
            event.kind.starts_with("content_block") && piece.as_ref().is_some_and(Piece::has_text);
        self.stop_reason = piece.and_then(|piece| piece.stop_reason).or(self.stop_reason.take());
        let mut facts = EventFacts {
            terminal: event.kind == "message_stop",
            error: event.error.is_some() || event.kind == "error",
            text,
            tokens: u64::from(text),
            ..EventFacts::default()
        };
        let message = event.message.0.flatten();
        let usage = message.as_ref().map_or(event.usage, |message| message.usage);
        self.model = self.model.take().or(message.and_then(|message| message.model.0.flatten()));
        (facts.usage, facts.malformed) = usage.counts(Stated::messages);
        self.stale |= text;
        if let Some(stated) = usage.given() {
            self.stale &= stated.output.is_none();
            self.stated = Some(self.stated.unwrap_or_default().updated(stated));
        }
        facts
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        self.stated?.messages()
    }

    /// No text came after the counts, so they are those of all that was written so far.
    pub(super) fn is_current(&self) -> bool {
        !self.stale
    }

    /// The counts came with the reason why the message ended.
    pub(super) fn is_final(&self) -> bool {
        self.stop_reason.is_some() && self.is_current()
    }

    pub(super) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    pub(super) fn finish_reason(&self) -> Option<&str> {
        self.stop_reason.as_deref()
    }
}

// === impl Piece ===

impl Piece<'_> {
    fn has_text(&self) -> bool {
        let texts = [&self.text, &self.thinking, &self.partial_json, &self.name];
        texts.into_iter().flatten().any(|text| has_text(text.get().as_bytes()))
    }
}

#[cfg(test)]
mod tests {
    use super::MessagesTally;
    use crate::{Usage, reply::EventFacts};

    fn read(events: &[&str]) -> (Vec<EventFacts>, MessagesTally) {
        let mut tally = MessagesTally::default();
        let facts = events.iter().map(|event| tally.read(event.as_bytes())).collect();
        (facts, tally)
    }

    const START: &str = r#"{"type":"message_start","message":{"model":"m","stop_reason":null,"usage":{"input_tokens":2,"output_tokens":0,"cache_read_input_tokens":16}}}"#;
    const END: &str = r#"{"type":"message_delta","delta":{"stop_reason":"end_turn","stop_sequence":null},"usage":{"output_tokens":6}}"#;

    #[test]
    fn start_and_end_state_their_parts() {
        let (facts, tally) = read(&[START, END, r#"{"type":"message_stop"}"#]);
        let want =
            Usage { prompt: Some(18), completion: Some(6), cached: Some(16), reasoning: None };
        assert_eq!((tally.usage(), tally.model()), (Some(want), Some("m")));
        assert_eq!(tally.finish_reason(), Some("end_turn"));
        assert!(tally.is_final() && facts[2].terminal && !facts[1].terminal);
    }

    #[test]
    fn what_the_end_states_stands() {
        let start =
            r#"{"type":"message_start","message":{"usage":{"input_tokens":0,"output_tokens":1}}}"#;
        let end = r#"{"type":"message_delta","delta":{},"usage":{"input_tokens":4522,"output_tokens":5}}"#;
        let (_, tally) = read(&[start, end]);
        let want = Usage { prompt: Some(4522), completion: Some(5), ..Usage::default() };
        assert_eq!(tally.usage(), Some(want));
    }

    #[test]
    fn what_was_stated_before_the_text_is_not_the_count_of_it() {
        let text = r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"x"}}"#;
        for end in [
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"}}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":null}}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"input_tokens":5}}"#,
            r#"{"type":"message_delta","delta":{"stop_reason":"end_turn"},"usage":{"output_tokens":-7}}"#,
        ] {
            let (_, tally) = read(&[START, text, end]);
            assert!(!tally.is_final() && !tally.is_current(), "{end}");
        }
        assert!(read(&[START, text, END]).1.is_final());
    }

    #[test]
    fn texts_and_errors() {
        let text = EventFacts { text: true, tokens: 1, ..EventFacts::default() };
        let error = EventFacts { error: true, ..EventFacts::default() };
        let none = EventFacts::default();
        for (event, want) in [
            (
                r#"{"type":"content_block_start","index":0,"content_block":{"type":"text","text":""}}"#,
                none,
            ),
            (
                r#"{"type":"content_block_start","content_block":{"type":"tool_use","id":"t","name":"f","input":{}}}"#,
                text,
            ),
            (
                r#"{"type":"content_block_delta","delta":{"type":"text_delta","text":"Hello"}}"#,
                text,
            ),
            (
                r#"{"type":"content_block_delta","delta":{"type":"thinking_delta","thinking":"hm"}}"#,
                text,
            ),
            (
                r#"{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":"{"}}"#,
                text,
            ),
            (
                r#"{"type":"content_block_delta","delta":{"type":"input_json_delta","partial_json":""}}"#,
                none,
            ),
            (
                r#"{"type":"content_block_delta","delta":{"type":"signature_delta","signature":"s"}}"#,
                none,
            ),
            (r#"{"type":"ping"}"#, none),
            (r#"{"type":"error","error":{"type":"overloaded_error"}}"#, error),
            (r#"{"error":{"message":"m"}}"#, error),
            ("{", EventFacts::MALFORMED),
        ] {
            assert_eq!(MessagesTally::default().read(event.as_bytes()), want, "{event}");
        }
    }
}
