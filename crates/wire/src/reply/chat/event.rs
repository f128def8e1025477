//! What is looked at in one event, and in which events it is worth looking.

use serde::{Deserialize, de::IgnoredAny};
use serde_json::value::RawValue;

use super::names;
use crate::{
    lenient::{self, Lenient},
    reply::facts::{is_failure, names_error},
    usage::UsageField,
};

/// The members of an event that are ever looked at.
#[derive(Deserialize)]
pub(super) struct Event<'a> {
    #[serde(default)]
    pub(super) model: Lenient<Option<String>>,
    #[serde(default)]
    pub(super) usage: UsageField,
    #[serde(default)]
    error: Option<IgnoredAny>,
    /// `error` where the event is an error itself, as some versions of SGLang send it.
    #[serde(borrow, default)]
    object: Option<&'a RawValue>,
    #[serde(default, deserialize_with = "lenient::objects")]
    pub(super) choices: Lenient<Vec<Choice>>,
}

/// One choice's part of an event.
#[derive(Deserialize)]
pub(super) struct Choice {
    #[serde(default)]
    pub(super) index: u64,
    #[serde(default)]
    pub(super) finish_reason: Lenient<Option<String>>,
    /// vLLM's, with `return_token_ids`.
    #[serde(default)]
    token_ids: Lenient<Option<Vec<IgnoredAny>>>,
    #[serde(default, deserialize_with = "lenient::object")]
    logprobs: Lenient<Option<LogProbs>>,
}

/// One entry for each token: `content` in chat, `tokens` in completions.
#[derive(Deserialize)]
struct LogProbs {
    #[serde(default)]
    content: Lenient<Option<Vec<IgnoredAny>>>,
    #[serde(default)]
    tokens: Lenient<Option<Vec<IgnoredAny>>>,
}

// === impl Event ===

impl<'a> Event<'a> {
    pub(super) fn read(data: &'a [u8]) -> Option<Self> {
        lenient::whole_object(data)
    }

    pub(super) fn is_error(&self) -> bool {
        let mut choices = self.choices.0.iter().flatten();
        self.error.is_some()
            || self.object.is_some_and(|object| names_error(object.get().as_bytes()))
            || choices.any(Choice::is_aborted)
    }
}

// === impl Choice ===

impl Choice {
    /// How many tokens it lists.
    pub(super) fn listed(&self) -> u64 {
        let length =
            |list: &Lenient<Option<Vec<IgnoredAny>>>| list.0.iter().flatten().map(Vec::len).next();
        let of_probabilities =
            |log_probs: &LogProbs| length(&log_probs.content).or(length(&log_probs.tokens));
        let listed = length(&self.token_ids)
            .or_else(|| self.logprobs.0.iter().flatten().find_map(of_probabilities));
        listed.unwrap_or_default() as u64
    }

    /// The engine gave it up.
    pub(super) fn is_aborted(&self) -> bool {
        let reason = self.finish_reason.0.as_ref().and_then(Option::as_deref);
        reason.is_some_and(is_failure)
    }
}

/// Whether an event with text may hold more than that.
pub(super) fn is_worth_parsing(data: &[u8]) -> bool {
    let given = |value: &[u8]| !value.starts_with(b"null");
    let listed = |value: &[u8]| value.starts_with(b"[") || value.starts_with(b"{");
    names::values(&names::USAGE, data).any(given)
        || names::values(&names::ERROR, data).any(given)
        || names::values(&names::FINISH_REASON, data).any(given)
        || names::values(&names::TOKEN_IDS, data).any(listed)
        || names::values(&names::LOG_PROBS, data).any(listed)
}
