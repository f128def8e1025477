//! Anthropic's Messages API: what was read comes with the start, what was written with the end.

use std::borrow::Cow;

use super::{EventFacts, answer::Members, facts::has_text};
use crate::{
    Usage,
    json::{Json, once},
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

/// The members of an event that are ever looked at.
#[derive(Default)]
struct Event<'a> {
    kind: Option<Cow<'a, str>>,
    message: Option<Option<Members<'a>>>,
    delta: Option<Option<Piece>>,
    content_block: Option<Option<Piece>>,
    usage: Option<UsageField>,
    /// It has an `error`.
    error: Option<bool>,
}

/// A piece of a block, or the beginning of one, or the end of the message.
#[derive(Default)]
struct Piece {
    /// Text, reasoning, arguments of a tool, or the name of one that a block calls.
    has_text: bool,
    stop_reason: Option<Option<String>>,
}

// === impl MessagesTally ===

impl MessagesTally {
    pub(super) fn read(&mut self, data: &[u8]) -> EventFacts {
        if EventFacts::done(data).is_some() {
            // Some gateways add it behind the event that is the end.
            return EventFacts::default();
        }
        Json::whole(data, |json| json.members(Event::put))
            .map_or(EventFacts::MALFORMED, |event| self.take(event))
    }

    fn take(&mut self, event: Event<'_>) -> EventFacts {
        let kind = event.kind.unwrap_or_default();
        let piece = event.delta.flatten().or(event.content_block.flatten()).unwrap_or_default();
        let text = kind.starts_with("content_block") && piece.has_text;
        self.stop_reason = piece.stop_reason.flatten().or(self.stop_reason.take());
        let mut facts = EventFacts {
            terminal: kind == "message_stop",
            error: event.error == Some(true) || kind == "error",
            text,
            tokens: u64::from(text),
            ..EventFacts::default()
        };
        let message = event.message.flatten();
        let usage = message.as_ref().map_or(event.usage, |message| message.usage);
        let usage = usage.unwrap_or_default();
        let model = message.and_then(|message| message.model.flatten()).map(Cow::into_owned);
        self.model = self.model.take().or(model);
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

// === impl Event ===

impl<'a> Event<'a> {
    fn put(&mut self, json: &mut Json<'a>, name: &[u8]) -> Option<()> {
        let piece = |json: &mut Json<'a>| json.members(Piece::put);
        match name {
            b"type" => once(&mut self.kind, json.string()?),
            b"message" => once(&mut self.message, json.lenient(|json| json.members(Members::put))?),
            b"delta" => once(&mut self.delta, json.lenient(piece)?),
            b"content_block" => once(&mut self.content_block, json.lenient(piece)?),
            b"usage" => once(&mut self.usage, UsageField::read(json)?),
            b"error" => once(&mut self.error, json.given()?),
            _ => json.skip(),
        }
    }
}

// === impl Piece ===

impl Piece {
    fn put(&mut self, json: &mut Json<'_>, name: &[u8]) -> Option<()> {
        match name {
            b"text" | b"thinking" | b"partial_json" | b"name" => {
                self.has_text |= has_text(json.raw()?);
                Some(())
            }
            b"stop_reason" if json.null() => once(&mut self.stop_reason, None),
            b"stop_reason" => once(&mut self.stop_reason, Some(json.string()?.into_owned())),
            _ => json.skip(),
        }
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
