//! The Responses API: events with a type, the last of which holds the whole response.

use std::borrow::Cow;

use super::{
    EventFacts,
    answer::Members,
    facts::{has_text, length},
};
use crate::{
    Endpoint, Usage,
    json::{Json, once},
};

/// What a stream of events has stated so far.
#[derive(Debug, Default)]
pub(super) struct ResponsesTally {
    model: Option<String>,
    usage: Option<Usage>,
    /// They came with the event that ends the stream.
    is_final: bool,
    finish_reason: Option<String>,
}

/// The members of an event that are ever looked at.
#[derive(Default)]
struct Event<'a> {
    kind: Option<Cow<'a, str>>,
    /// The delta has text.
    delta: Option<bool>,
    /// How many there are: one for each token of a text's delta, if asked for.
    logprobs: Option<Option<u64>>,
    /// The item that begins has a name, as a call of a tool has.
    item: Option<Option<bool>>,
    response: Option<Option<Members<'a>>>,
    /// It has an `error`.
    error: Option<bool>,
}

// === impl ResponsesTally ===

impl ResponsesTally {
    pub(super) fn read(&mut self, data: &[u8]) -> EventFacts {
        if EventFacts::done(data).is_some() {
            // Some gateways add it behind the event that is the end.
            return EventFacts::default();
        }
        Json::whole(data, |json| json.members(Event::put))
            .map_or(EventFacts::MALFORMED, |event| self.take(event))
    }

    fn take(&mut self, event: Event<'_>) -> EventFacts {
        let text = event.has_text();
        let kind = event.kind.unwrap_or_default();
        let ending = kind.strip_prefix("response.");
        let ending = ending.filter(|end| matches!(*end, "completed" | "incomplete" | "failed"));
        let mut facts = EventFacts {
            terminal: ending.is_some(),
            error: event.error == Some(true) || kind == "error" || ending == Some("failed"),
            text,
            tokens: event.logprobs.flatten().unwrap_or_default().max(1) * u64::from(text),
            ..EventFacts::default()
        };
        if let Some(response) = event.response.flatten() {
            let mut answer = response.answer(Endpoint::Responses);
            (facts.usage, facts.malformed) = (answer.usage, answer.malformed);
            self.usage = facts.usage.or(self.usage);
            self.is_final = facts.terminal && facts.usage.is_some();
            self.finish_reason = answer.finish_reasons.pop().filter(|_| facts.terminal);
            self.model = answer.model.or(self.model.take());
        }
        facts
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        self.usage
    }

    pub(super) fn is_final(&self) -> bool {
        self.is_final
    }

    pub(super) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    pub(super) fn finish_reason(&self) -> Option<&str> {
        self.finish_reason.as_deref()
    }
}

// === impl Event ===

impl<'a> Event<'a> {
    fn put(&mut self, json: &mut Json<'a>, name: &[u8]) -> Option<()> {
        match name {
            b"type" => once(&mut self.kind, json.string()?),
            b"delta" => once(&mut self.delta, has_text(json.raw()?)),
            b"logprobs" => once(&mut self.logprobs, json.lenient(length)?),
            b"item" => once(&mut self.item, json.lenient(has_name)?),
            b"response" => {
                once(&mut self.response, json.lenient(|json| json.members(Members::put))?)
            }
            b"error" => once(&mut self.error, json.given()?),
            _ => json.skip(),
        }
    }

    fn has_text(&self) -> bool {
        let kind = self.kind.as_deref().unwrap_or_default();
        match kind.ends_with(".delta") {
            true => self.delta == Some(true),
            false => kind == "response.output_item.added" && self.item.flatten() == Some(true),
        }
    }
}

/// Whether an item has a name that is not empty.
fn has_name(json: &mut Json<'_>) -> Option<bool> {
    let name = json.member(b"name", |json| json.lenient(Json::string))?;
    Some(name.flatten().is_some_and(|name| !name.is_empty()))
}

/// Why a response is not complete, if that is what stands here.
pub(super) fn incomplete_reason(json: &mut Json<'_>) -> Option<String> {
    json.member(b"reason", Json::string)?.map(Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::ResponsesTally;
    use crate::{Usage, reply::EventFacts};

    const USAGE: &str = r#""usage":{"input_tokens":9,"input_tokens_details":{"cached_tokens":4},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":2},"total_tokens":14}"#;
    const COUNTS: Usage =
        Usage { prompt: Some(9), completion: Some(5), cached: Some(4), reasoning: Some(2) };

    fn ended(kind: &str, more: &str) -> (EventFacts, ResponsesTally) {
        let mut tally = ResponsesTally::default();
        let event = format!(
            "{{\"type\":\"response.{kind}\",\"response\":{{\"model\":\"m\",\"status\":\"{kind}\",{more}{USAGE}}}}}"
        );
        (tally.read(event.as_bytes()), tally)
    }

    #[test]
    fn three_events_end_a_stream() {
        let details = r#""incomplete_details":{"reason":"max_output_tokens"},"#;
        for (kind, more, error, reason) in [
            ("completed", "\"error\":null,", false, "completed"),
            ("incomplete", details, false, "max_output_tokens"),
            ("failed", "\"error\":{\"code\":\"server_error\"},", true, "failed"),
        ] {
            let (facts, tally) = ended(kind, more);
            assert!(facts.terminal && facts.error == error, "{kind}: {facts:?}");
            assert_eq!(facts.usage, Some(COUNTS));
            let stated = (tally.usage(), tally.model(), tally.finish_reason());
            assert_eq!(stated, (Some(COUNTS), Some("m"), Some(reason)));
        }
    }

    #[test]
    fn a_total_that_is_not_the_sum_is_seen() {
        let event = r#"{"type":"response.completed","response":{"usage":{"input_tokens":9,"output_tokens":5,"total_tokens":99}}}"#;
        assert!(ResponsesTally::default().read(event.as_bytes()).malformed);
    }

    #[test]
    fn events_before_the_end() {
        let text = |tokens| EventFacts { text: true, tokens, ..EventFacts::default() };
        for (event, want) in [
            (
                r#"{"type":"response.created","response":{"status":"in_progress","usage":null}}"#,
                EventFacts::default(),
            ),
            (r#"{"type":"response.output_text.delta","delta":"Hel","logprobs":[]}"#, text(1)),
            (r#"{"type":"response.output_text.delta","delta":"Hel","logprobs":[{},{}]}"#, text(2)),
            (r#"{"type":"response.reasoning_text.delta","delta":"hm"}"#, text(1)),
            (r#"{"type":"response.function_call_arguments.delta","delta":"{"}"#, text(1)),
            (r#"{"type":"response.output_text.delta","delta":""}"#, EventFacts::default()),
            (r#"{"type":"response.output_text.done","text":"Hello"}"#, EventFacts::default()),
            (
                r#"{"type":"response.output_item.added","item":{"type":"function_call","name":"f","arguments":""}}"#,
                text(1),
            ),
            (
                r#"{"type":"response.output_item.added","item":{"type":"message","content":[]}}"#,
                EventFacts::default(),
            ),
            (
                r#"{"type":"error","code":"x","message":"m"}"#,
                EventFacts { error: true, ..EventFacts::default() },
            ),
            (r#"{"error":{"message":"m"}}"#, EventFacts { error: true, ..EventFacts::default() }),
            ("[DONE]", EventFacts::default()),
            ("{", EventFacts::MALFORMED),
        ] {
            assert_eq!(ResponsesTally::default().read(event.as_bytes()), want, "{event}");
        }
    }

    #[test]
    fn only_the_end_states_final_counts() {
        let mut tally = ResponsesTally::default();
        tally.read(br#"{"type":"response.created","response":{"usage":{"input_tokens":5,"output_tokens":1}}}"#);
        tally.read(br#"{"type":"response.completed","response":{"usage":null}}"#);
        assert!(!tally.is_final());
        assert!(ended("completed", "").1.is_final());
    }

    #[test]
    fn counts_under_the_names_of_chat_are_read_too() {
        let mut tally = ResponsesTally::default();
        tally.read(br#"{"type":"response.completed","response":{"usage":{"prompt_tokens":9,"completion_tokens":5,"reasoning_tokens":2,"prompt_tokens_details":{"cached_tokens":4}}}}"#);
        assert_eq!(tally.usage(), Some(COUNTS));
    }
}
