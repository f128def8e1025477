//! What is looked at in one event, and in which events it is worth looking.

use std::borrow::Cow;

use super::names;
use crate::{
    json::{Json, once},
    reply::facts::{is_failure, length, names_error},
    usage::UsageField,
};

/// The members of an event that are ever looked at.
#[derive(Default)]
pub(super) struct Event<'a> {
    model: Option<Option<Cow<'a, str>>>,
    usage: Option<UsageField>,
    /// It has an `error`.
    error: Option<bool>,
    /// `error` where the event is an error itself, as some versions of SGLang send it.
    object: Option<&'a [u8]>,
    choices: Option<Option<Vec<Choice>>>,
}

/// One choice's part of an event.
#[derive(Default)]
pub(super) struct Choice {
    index: Option<u64>,
    finish_reason: Option<Option<String>>,
    /// How many tokens it lists: vLLM's, with `return_token_ids`.
    token_ids: Option<Option<u64>>,
    logprobs: Option<Option<LogProbs>>,
}

/// How many entries there are, one for each token: `content` in chat, `tokens` in completions.
#[derive(Default)]
struct LogProbs {
    content: Option<Option<u64>>,
    tokens: Option<Option<u64>>,
}

// === impl Event ===

impl<'a> Event<'a> {
    pub(super) fn read(data: &'a [u8]) -> Option<Self> {
        Json::whole(data, |json| json.members(Self::put))
    }

    fn put(&mut self, json: &mut Json<'a>, name: &[u8]) -> Option<()> {
        match name {
            b"model" => once(&mut self.model, json.lenient(Json::string)?),
            b"usage" => once(&mut self.usage, UsageField::read(json)?),
            b"error" => once(&mut self.error, json.given()?),
            b"object" => once(&mut self.object, json.raw()?),
            b"choices" => once(&mut self.choices, json.lenient(choices)?),
            _ => json.skip(),
        }
    }

    pub(super) fn usage(&self) -> UsageField {
        self.usage.unwrap_or_default()
    }

    pub(super) fn model(&mut self) -> Option<String> {
        self.model.take().flatten().map(Cow::into_owned)
    }

    /// The choices, if there is a list of them.
    pub(super) fn choices(&self) -> Option<&[Choice]> {
        self.choices.as_ref()?.as_deref()
    }

    pub(super) fn into_choices(self) -> Vec<Choice> {
        self.choices.flatten().unwrap_or_default()
    }

    pub(super) fn is_error(&self) -> bool {
        self.error == Some(true)
            || self.object.is_some_and(names_error)
            || self.choices().into_iter().flatten().any(Choice::is_aborted)
    }
}

fn choices(json: &mut Json<'_>) -> Option<Vec<Choice>> {
    let mut choices = Vec::new();
    json.list(|json| {
        choices.push(json.members(Choice::put)?);
        Some(())
    })?;
    Some(choices)
}

// === impl Choice ===

impl Choice {
    fn put(&mut self, json: &mut Json<'_>, name: &[u8]) -> Option<()> {
        match name {
            b"index" => once(&mut self.index, serde_json::from_slice(json.raw()?).ok()?),
            b"finish_reason" => {
                let reason = json.lenient(Json::string)?;
                once(&mut self.finish_reason, reason.map(Cow::into_owned))
            }
            b"token_ids" => once(&mut self.token_ids, json.lenient(length)?),
            b"logprobs" => {
                once(&mut self.logprobs, json.lenient(|json| json.members(LogProbs::put))?)
            }
            _ => json.skip(),
        }
    }

    pub(super) fn index(&self) -> u64 {
        self.index.unwrap_or_default()
    }

    pub(super) fn finish_reason(&mut self) -> Option<String> {
        self.finish_reason.take().flatten()
    }

    /// How many tokens it lists.
    pub(super) fn listed(&self) -> u64 {
        let of_probabilities = |list: &LogProbs| list.content.flatten().or(list.tokens.flatten());
        let listed = self.token_ids.flatten();
        let listed = listed.or_else(|| self.logprobs.as_ref()?.as_ref().and_then(of_probabilities));
        listed.unwrap_or_default()
    }

    /// The engine gave it up.
    pub(super) fn is_aborted(&self) -> bool {
        self.finish_reason.as_ref().and_then(Option::as_deref).is_some_and(is_failure)
    }
}

// === impl LogProbs ===

impl LogProbs {
    fn put(&mut self, json: &mut Json<'_>, name: &[u8]) -> Option<()> {
        match name {
            b"content" => once(&mut self.content, json.lenient(length)?),
            b"tokens" => once(&mut self.tokens, json.lenient(length)?),
            _ => json.skip(),
        }
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
