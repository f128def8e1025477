//! A JSON answer that is there whole.

use std::borrow::Cow;

use super::{
    Asked,
    facts::{is_failure, names_error},
    generate, responses,
};
use crate::{
    Endpoint, Usage,
    json::{Json, once},
    usage::{Stated, UsageField},
};

/// What a JSON answer states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The model it names.
    pub model: Option<String>,
    /// Counts, if it carries any.
    pub usage: Option<Usage>,
    /// It is an error: a top-level `error`, a response that failed, or a choice that was aborted.
    pub error: bool,
    /// It is no JSON, or some of its counts cannot be read or contradict each other.
    pub malformed: bool,
    /// Why each choice ended, or why the one answer there is did.
    pub finish_reasons: Vec<String>,
}

/// The members of an answer that are ever looked at, those of every API.
#[derive(Default)]
pub(super) struct Members<'a> {
    pub(super) model: Option<Option<Cow<'a, str>>>,
    pub(super) usage: Option<UsageField>,
    /// It has an `error`.
    error: Option<bool>,
    object: Option<&'a [u8]>,
    /// Of chat and completions, why each choice ended.
    choices: Option<Option<Vec<String>>>,
    /// Of a response.
    status: Option<Option<Cow<'a, str>>>,
    /// Of a response, why it is `incomplete`.
    incomplete_details: Option<Option<String>>,
    /// Of a message.
    stop_reason: Option<Option<Cow<'a, str>>>,
}

/// Reads the JSON answer of `endpoint`, of which so much was asked.
pub fn read_answer(endpoint: Endpoint, asked: Asked, body: &[u8]) -> Answer {
    if endpoint == Endpoint::Generate {
        return generate::read_answer(asked, body);
    }
    let members = Json::whole(body, |json| json.members(Members::put));
    members.map_or_else(|| Answer::unread(body), |members| members.answer(endpoint))
}

// === impl Answer ===

impl Answer {
    /// An answer without members. A list, as SGLang's `/v1/rerank` sends it, states nothing but is
    /// no fault.
    pub(super) fn unread(body: &[u8]) -> Self {
        let list = Json::whole(body, |json| json.list(Json::skip));
        Self { malformed: list.is_none(), ..Self::default() }
    }
}

// === impl Members ===

impl<'a> Members<'a> {
    pub(super) fn put(&mut self, json: &mut Json<'a>, name: &[u8]) -> Option<()> {
        match name {
            b"model" => once(&mut self.model, json.lenient(Json::string)?),
            b"usage" => once(&mut self.usage, UsageField::read(json)?),
            b"error" => once(&mut self.error, json.given()?),
            b"object" => once(&mut self.object, json.raw()?),
            b"choices" => once(&mut self.choices, json.lenient(finish_reasons)?),
            b"status" => once(&mut self.status, json.lenient(Json::string)?),
            b"incomplete_details" => {
                once(&mut self.incomplete_details, json.lenient(responses::incomplete_reason)?)
            }
            b"stop_reason" => once(&mut self.stop_reason, json.lenient(Json::string)?),
            _ => json.skip(),
        }
    }

    pub(super) fn answer(self, endpoint: Endpoint) -> Answer {
        let usage = self.usage.unwrap_or_default();
        let (usage, malformed) = usage.counts(match endpoint {
            Endpoint::Messages => Stated::messages,
            _ if endpoint.is_pooling() => Stated::pooling,
            _ => Stated::chat,
        });
        let is_error = self.error.unwrap_or_default() || self.object.is_some_and(names_error);
        let owned = Cow::into_owned;
        let finish_reasons = match endpoint {
            Endpoint::Responses => {
                let status = self.status.flatten().map(owned);
                Vec::from_iter(self.incomplete_details.flatten().or(status))
            }
            Endpoint::Messages => Vec::from_iter(self.stop_reason.flatten().map(owned)),
            _ => self.choices.flatten().unwrap_or_default(),
        };
        let failed = |reason: &String| is_failure(reason) || reason == "failed";
        Answer {
            usage,
            error: is_error || finish_reasons.iter().any(failed),
            malformed,
            finish_reasons,
            model: self.model.flatten().map(owned),
        }
    }
}

/// Why each of the choices ended that are listed here, where it is said.
fn finish_reasons(json: &mut Json<'_>) -> Option<Vec<String>> {
    let mut reasons = Vec::new();
    json.list(|json| {
        let reason = json.member(b"finish_reason", |json| json.lenient(Json::string))?;
        reasons.extend(reason.flatten().map(Cow::into_owned));
        Some(())
    })?;
    Some(reasons)
}

#[cfg(test)]
mod tests {
    use super::{Answer, read_answer};
    use crate::{Endpoint, Usage, reply::Asked};

    fn usage(prompt: u64, completion: u64) -> Usage {
        Usage { prompt: Some(prompt), completion: Some(completion), ..Usage::default() }
    }

    fn counted(usage: Usage, reason: &str) -> Answer {
        let finish_reasons = reason.split_whitespace().map(str::to_owned).collect();
        Answer { usage: Some(usage), finish_reasons, ..Answer::default() }
    }

    #[track_caller]
    fn assert_read(endpoint: Endpoint, body: &str, want: Answer) {
        assert_eq!(read_answer(endpoint, Asked::default(), body.as_bytes()), want, "{body}");
    }

    #[test]
    fn answers_of_every_api() {
        let prompt_only = Usage { completion: None, ..usage(9, 0) };
        let cached = Usage { cached: Some(16), ..usage(18, 6) };
        for (endpoint, body, want) in [
            (
                Endpoint::Chat,
                r#"{"choices":[{"finish_reason":"stop","usage":1},{"finish_reason":"length"},{}],"usage":{"prompt_tokens":4,"completion_tokens":2}}"#,
                counted(usage(4, 2), "stop length"),
            ),
            (
                Endpoint::Responses,
                r#"{"object":"response","status":"incomplete","error":null,"incomplete_details":{"reason":"max_output_tokens"},"usage":{"input_tokens":4,"output_tokens":2,"total_tokens":6}}"#,
                counted(usage(4, 2), "max_output_tokens"),
            ),
            (
                Endpoint::Responses,
                r#"{"status":"completed","usage":{"prompt_tokens":4,"completion_tokens":2,"total_tokens":6}}"#,
                counted(usage(4, 2), "completed"),
            ),
            (
                Endpoint::Messages,
                r#"{"type":"message","stop_reason":"end_turn","usage":{"input_tokens":2,"cache_read_input_tokens":16,"output_tokens":6}}"#,
                counted(cached, "end_turn"),
            ),
            (
                Endpoint::Embeddings,
                r#"{"object":"list","data":[],"usage":{"prompt_tokens":9,"total_tokens":9,"completion_tokens":0}}"#,
                counted(usage(9, 0), ""),
            ),
            (
                Endpoint::Embeddings,
                r#"{"usage":{"prompt_tokens":9,"total_tokens":9,"completion_tokens":null}}"#,
                counted(prompt_only, ""),
            ),
            (Endpoint::Rerank, r#"{"usage":{"total_tokens":9}}"#, counted(prompt_only, "")),
            (
                Endpoint::Score,
                r#"{"usage":{"prompt_tokens":9,"total_tokens":9}}"#,
                counted(prompt_only, ""),
            ),
            (Endpoint::Rerank, r#"[{"score":0.7,"meta_info":{}}]"#, Answer::default()),
            (
                Endpoint::Other,
                r#"{"text":"x","usage":{"type":"duration","seconds":3}}"#,
                Answer::default(),
            ),
        ] {
            assert_read(endpoint, body, want);
        }
    }

    #[test]
    fn names_and_nothing() {
        let model = Answer { model: Some("mA".to_owned()), ..Answer::default() };
        assert_read(Endpoint::Chat, r#"{"model":"m\u0041","usage":null}"#, model);
        assert_read(Endpoint::Chat, "{}", Answer::default());
    }

    #[test]
    fn errors_are_seen() {
        for (endpoint, body) in [
            (Endpoint::Chat, r#"{"error":{"code":500}}"#),
            (Endpoint::Chat, r#"{"object":"error","message":"m","code":500}"#),
            (Endpoint::Chat, r#"{"choices":[{"finish_reason":"abort"}]}"#),
            (Endpoint::Responses, r#"{"status":"failed","error":{"code":"server_error"}}"#),
            (Endpoint::Messages, r#"{"type":"error","error":{"type":"overloaded_error"}}"#),
        ] {
            assert!(read_answer(endpoint, Asked::default(), body.as_bytes()).error, "{body}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_said() {
        for (body, usage) in [
            (r#"{"usage":"n/a"}"#, None),
            (r#"{"usage":{"total_tokens":9}}"#, None),
            ("<html>", None),
            (r#"{"usage":[3,4]}"#, None),
            (
                r#"{"usage":{"prompt_tokens":4,"completion_tokens":2,"total_tokens":7}}"#,
                Some(usage(4, 2)),
            ),
        ] {
            assert_read(
                Endpoint::Chat,
                body,
                Answer { usage, malformed: true, ..Answer::default() },
            );
        }
    }
}
