//! A JSON answer that is there whole.

use serde::{Deserialize, de::IgnoredAny};

use crate::{
    Endpoint, Usage,
    lenient::{Count, Lenient},
    usage::UsageField,
};

/// What a JSON answer states.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answer {
    /// The model it names.
    pub model: Option<String>,
    /// Counts, if it carries any.
    pub usage: Option<Usage>,
    /// It is an error: a top-level `error`, or a native answer that was aborted.
    pub error: bool,
    /// It is no JSON, or its counts cannot be read.
    pub malformed: bool,
}

/// The counts of SGLang's `/generate`, one for each prompt, as of 0.5.23.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct MetaInfo {
    prompt_tokens: Count,
    completion_tokens: Count,
    cached_tokens: Count,
    reasoning_tokens: Count,
    finish_reason: Lenient<Option<FinishReason>>,
}

#[derive(Debug, Deserialize)]
struct FinishReason {
    #[serde(rename = "type")]
    kind: String,
}

/// The members of an OpenAI-format answer that are ever looked at.
#[derive(Deserialize)]
struct Members {
    #[serde(default)]
    model: Lenient<Option<String>>,
    #[serde(default)]
    usage: UsageField,
    #[serde(default)]
    error: Option<IgnoredAny>,
}

#[derive(Deserialize)]
struct Native {
    meta_info: MetaInfo,
}

/// Reads the JSON answer of `endpoint`.
pub fn read_answer(endpoint: Endpoint, body: &[u8]) -> Answer {
    if endpoint == Endpoint::Generate {
        if let Some(prompts) = native_prompts(body) {
            return read_native(&prompts);
        }
    }
    match serde_json::from_slice::<Members>(body) {
        Ok(members) => members.read(),
        // An array, as SGLang's /v1/rerank sends it, states nothing but is no fault.
        Err(_) => Answer {
            malformed: serde_json::from_slice::<IgnoredAny>(body).is_err(),
            ..Answer::default()
        },
    }
}

/// One native answer, or one for each prompt of a batch.
fn native_prompts(body: &[u8]) -> Option<Vec<Native>> {
    if body.trim_ascii_start().starts_with(b"[") {
        return serde_json::from_slice(body).ok();
    }
    serde_json::from_slice(body).ok().map(|one| vec![one])
}

fn read_native(prompts: &[Native]) -> Answer {
    let counts: Option<Vec<_>> = prompts.iter().map(|prompt| prompt.meta_info.usage()).collect();
    Answer {
        model: None,
        usage: counts.and_then(|counts| counts.into_iter().reduce(Usage::plus)),
        error: prompts.iter().any(|prompt| prompt.meta_info.aborted()),
        malformed: false,
    }
}

// === impl Members ===

impl Members {
    fn read(self) -> Answer {
        Answer {
            model: self.model.0.flatten(),
            usage: match self.usage {
                UsageField::Given(usage) => Some(usage),
                UsageField::Absent | UsageField::Malformed => None,
            },
            error: self.error.is_some(),
            malformed: self.usage == UsageField::Malformed,
        }
    }
}

// === impl MetaInfo ===

impl MetaInfo {
    pub(super) fn usage(&self) -> Option<Usage> {
        let usage = Usage {
            prompt: self.prompt_tokens.get(),
            completion: self.completion_tokens.get(),
            cached: self.cached_tokens.get(),
            reasoning: self.reasoning_tokens.get(),
        };
        (usage.prompt.is_some() || usage.completion.is_some()).then_some(usage)
    }

    pub(super) fn aborted(&self) -> bool {
        let reason = self.finish_reason.0.as_ref().and_then(Option::as_ref);
        reason.is_some_and(|reason| reason.kind == "abort")
    }
}

#[cfg(test)]
mod tests {
    use super::{Answer, read_answer};
    use crate::{Endpoint, Usage};

    fn usage(prompt: u64, completion: u64) -> Option<Usage> {
        Some(Usage { prompt: Some(prompt), completion: Some(completion), ..Usage::default() })
    }

    #[test]
    fn answers_of_every_shape() {
        let none = Answer::default();
        for (endpoint, body, want) in [
            (
                Endpoint::Chat,
                r#"{"model":"m\u0041","choices":[{"usage":1}],"usage":{"prompt_tokens":4,"completion_tokens":2}}"#,
                Answer { model: Some("mA".to_owned()), usage: usage(4, 2), ..none.clone() },
            ),
            (
                Endpoint::Generate,
                r#"[{"meta_info":{"prompt_tokens":4,"completion_tokens":2}},{"meta_info":{"prompt_tokens":5,"completion_tokens":3}}]"#,
                Answer { usage: usage(9, 5), ..none.clone() },
            ),
            (
                Endpoint::Generate,
                r#"{"text":"x","meta_info":{"finish_reason":{"type":"abort"},"prompt_tokens":4,"completion_tokens":0}}"#,
                Answer { usage: usage(4, 0), error: true, ..none.clone() },
            ),
            (
                Endpoint::Generate,
                r#"{"error":{"message":"m"}}"#,
                Answer { error: true, ..none.clone() },
            ),
            (Endpoint::Rerank, r#"[{"score":0.7}]"#, none.clone()),
            (Endpoint::Chat, r#"{"usage":null}"#, none.clone()),
            (Endpoint::Chat, r#"{"usage":"n/a"}"#, Answer { malformed: true, ..none.clone() }),
            (Endpoint::Chat, "<html>", Answer { malformed: true, ..none.clone() }),
        ] {
            assert_eq!(read_answer(endpoint, body.as_bytes()), want, "{body}");
        }
    }
}
