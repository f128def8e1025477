//! A JSON answer that is there whole.

use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

use super::{
    Asked,
    facts::{is_failure, names_error},
    generate,
    responses::{self, Incomplete},
};
use crate::{
    Endpoint, Usage,
    lenient::{self, Lenient},
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
#[derive(Deserialize)]
struct Members<'a> {
    #[serde(default)]
    model: Lenient<Option<String>>,
    #[serde(default)]
    usage: UsageField,
    #[serde(default)]
    error: Option<IgnoredAny>,
    #[serde(borrow, default)]
    object: Option<&'a RawValue>,
    /// Of chat and completions.
    #[serde(default, deserialize_with = "lenient::objects")]
    choices: Lenient<Vec<Choice>>,
    /// Of a response.
    #[serde(default)]
    status: Lenient<Option<String>>,
    /// Of a response, why it is `incomplete`.
    #[serde(default, deserialize_with = "lenient::object")]
    incomplete_details: Lenient<Option<Incomplete>>,
    /// Of a message.
    #[serde(default)]
    stop_reason: Lenient<Option<String>>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    finish_reason: Lenient<Option<String>>,
}

/// Reads the JSON answer of `endpoint`, of which so much was asked.
pub fn read_answer(endpoint: Endpoint, asked: Asked, body: &[u8]) -> Answer {
    if endpoint == Endpoint::Generate {
        return generate::read_answer(asked, body);
    }
    let members = lenient::whole_object::<Members<'_>>(body);
    members.map_or_else(|| Answer::unread(body), |members| members.read(endpoint))
}

// === impl Answer ===

impl Answer {
    /// An answer without members. A list, as SGLang's `/v1/rerank` sends it, states nothing but is
    /// no fault.
    pub(super) fn unread(body: &[u8]) -> Self {
        let is_list = serde_json::from_slice::<Vec<IgnoredAny>>(body).is_ok();
        Self { malformed: !is_list, ..Self::default() }
    }
}

// === impl Members ===

impl Members<'_> {
    fn read(self, endpoint: Endpoint) -> Answer {
        let (usage, malformed) = self.usage.read_checked(match endpoint {
            Endpoint::Messages => Stated::messages,
            _ if endpoint.is_pooling() => Stated::pooling,
            _ => Stated::chat,
        });
        let is_error = self.error.is_some() || self.object.is_some_and(names_error);
        let finish_reasons: Vec<_> = match endpoint {
            Endpoint::Responses => {
                let reason = responses::finish_reason(self.status, self.incomplete_details);
                reason.into_iter().collect()
            }
            Endpoint::Messages => self.stop_reason.0.flatten().into_iter().collect(),
            _ => {
                let choices = self.choices.0.into_iter().flatten();
                choices.filter_map(|choice| choice.finish_reason.0.flatten()).collect()
            }
        };
        let failed = |reason: &String| is_failure(reason) || reason == "failed";
        Answer {
            usage,
            error: is_error || finish_reasons.iter().any(failed),
            malformed,
            finish_reasons,
            model: self.model.0.flatten(),
        }
    }
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
