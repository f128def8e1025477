//! Token counts as an engine states them.

use serde::{Deserialize, Deserializer};

use crate::lenient::{Count, Lenient};

/// The token counts of one request. `None` is *not known*, which is not 0.
///
/// `cached` is a part of `prompt` and `reasoning` a part of `completion`: never add them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Usage {
    /// Tokens of the prompt, all prompts of the request together.
    pub prompt: Option<u64>,
    /// Tokens written, all choices together.
    pub completion: Option<u64>,
    /// Prompt tokens found in the engine's prefix cache. SGLang says so with
    /// `--enable-cache-report`, vLLM with `--enable-prompt-tokens-details`.
    pub cached: Option<u64>,
    /// Written tokens that were reasoning.
    pub reasoning: Option<u64>,
}

/// A `usage` member, whatever stood there.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum UsageField {
    /// Not there, or null.
    #[default]
    Absent,
    Given(Usage),
    /// Something from which no count can be read.
    Malformed,
}

/// The members of a chat-shaped usage object.
#[derive(Default, Deserialize)]
#[serde(default)]
struct Members {
    prompt_tokens: Count,
    completion_tokens: Count,
    prompt_tokens_details: Lenient<Option<PromptDetails>>,
    completion_tokens_details: Lenient<Option<CompletionDetails>>,
    /// SGLang's, beside the details.
    reasoning_tokens: Count,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct PromptDetails {
    cached_tokens: Count,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct CompletionDetails {
    reasoning_tokens: Count,
}

// === impl Usage ===

impl Usage {
    /// The counts of two parts of one request together. A count that either lacks is not known.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        let sum = |a: Option<u64>, b: Option<u64>| a?.checked_add(b?);
        Self {
            prompt: sum(self.prompt, other.prompt),
            completion: sum(self.completion, other.completion),
            cached: sum(self.cached, other.cached),
            reasoning: sum(self.reasoning, other.reasoning),
        }
    }
}

// === impl UsageField ===

impl<'de> Deserialize<'de> for UsageField {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let Lenient(members) = Lenient::<Option<Members>>::deserialize(deserializer)?;
        Ok(match members {
            None => Self::Malformed,
            Some(None) => Self::Absent,
            Some(Some(members)) => members.read(),
        })
    }
}

// === impl Members ===

impl Members {
    fn read(self) -> UsageField {
        let prompt_details = self.prompt_tokens_details.0.flatten().unwrap_or_default();
        let details = self.completion_tokens_details.0.flatten().unwrap_or_default();
        let usage = Usage {
            prompt: self.prompt_tokens.get(),
            completion: self.completion_tokens.get(),
            cached: prompt_details.cached_tokens.get(),
            reasoning: details.reasoning_tokens.get().or(self.reasoning_tokens.get()),
        };
        if usage.prompt.is_none() && usage.completion.is_none() {
            return UsageField::Malformed;
        }
        UsageField::Given(usage)
    }
}

#[cfg(test)]
mod tests {
    use super::{Usage, UsageField};

    fn given(prompt: u64, completion: u64) -> Usage {
        Usage { prompt: Some(prompt), completion: Some(completion), ..Usage::default() }
    }

    #[test]
    fn members_of_every_shape() {
        let sglang = Usage { reasoning: Some(0), ..given(24, 5) };
        let detailed = Usage { cached: Some(6), reasoning: Some(3), ..given(24, 5) };
        let prompt_only = Usage { completion: None, ..given(24, 0) };
        for (text, want) in [
            (
                r#"{"prompt_tokens":24,"total_tokens":29,"completion_tokens":5,"prompt_tokens_details":null,"reasoning_tokens":0,"completion_tokens_details":null}"#,
                UsageField::Given(sglang),
            ),
            (
                r#"{"prompt_tokens":24,"completion_tokens":5,"reasoning_tokens":0,"prompt_tokens_details":{"cached_tokens":6,"audio_tokens":null},"completion_tokens_details":{"reasoning_tokens":3}}"#,
                UsageField::Given(detailed),
            ),
            (
                r#"{"prompt_tokens":24,"completion_tokens":5,"prompt_tokens_details":"?","completion_tokens_details":[]}"#,
                UsageField::Given(given(24, 5)),
            ),
            (r#"{"prompt_tokens":24,"completion_tokens":null}"#, UsageField::Given(prompt_only)),
            (r#"{"prompt_tokens":24,"completion_tokens":1e99}"#, UsageField::Given(prompt_only)),
            ("null", UsageField::Absent),
            (r#"{"total_tokens":9}"#, UsageField::Malformed),
            (r#""n/a""#, UsageField::Malformed),
            (r#"{"prompt_tokens":-1,"completion_tokens":-1}"#, UsageField::Malformed),
        ] {
            assert_eq!(serde_json::from_str::<UsageField>(text).unwrap(), want, "{text}");
        }
    }

    #[test]
    fn a_sum_is_known_only_where_both_parts_are() {
        let sum = given(1, 2).plus(Usage { completion: None, ..given(3, 0) });
        assert_eq!(sum, Usage { prompt: Some(4), ..Usage::default() });
        assert_eq!(given(u64::MAX, 0).plus(given(1, 0)).prompt, None);
    }
}
