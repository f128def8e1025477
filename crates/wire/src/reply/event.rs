//! One event of a stream of `/v1/chat/completions` or `/v1/completions`.

use serde::{Deserialize, de::IgnoredAny};

use super::{names, text};
use crate::{
    lenient::Lenient,
    usage::{Usage, UsageField},
};

/// What one event says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventFacts {
    /// The terminal marker, `[DONE]`.
    pub terminal: bool,
    /// An error of the engine inside the stream: a top-level `error`, or a choice that ended by
    /// `abort` or `error`.
    pub error: bool,
    /// Non-empty content, reasoning, tool-call text or completion `text`. An event that only opens
    /// the message with its role has none.
    pub text: bool,
    /// Counts, if it carries any.
    pub usage: Option<Usage>,
    /// It carries counts, or claims to be JSON, and cannot be read.
    pub malformed: bool,
}

/// The members of an event that are ever looked at.
#[derive(Deserialize)]
pub(super) struct Members {
    #[serde(default)]
    pub(super) model: Lenient<Option<String>>,
    #[serde(default)]
    usage: UsageField,
    #[serde(default)]
    error: Option<IgnoredAny>,
    #[serde(default)]
    choices: Lenient<Vec<Choice>>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    finish_reason: Lenient<Option<String>>,
}

// === impl EventFacts ===

impl EventFacts {
    /// Reads one event's data. Most events hold one token and nothing else of interest; those are
    /// told apart by a search for the few names that matter, without parsing and allocating.
    pub(super) fn read(data: &[u8]) -> Self {
        if data.trim_ascii() == b"[DONE]" {
            return Self { terminal: true, ..Self::default() };
        }
        let text = text::find(data).is_some();
        if !worth_parsing(data) {
            return Self { text, ..Self::default() };
        }
        match serde_json::from_slice::<Members>(data) {
            Ok(members) => Self {
                text,
                error: members.error.is_some() || members.aborted(),
                malformed: members.usage == UsageField::Malformed,
                usage: members.counts(),
                terminal: false,
            },
            Err(_) => Self { text, malformed: true, ..Self::default() },
        }
    }
}

// === impl Members ===

impl Members {
    fn counts(&self) -> Option<Usage> {
        match self.usage {
            UsageField::Given(usage) => Some(usage),
            UsageField::Absent | UsageField::Malformed => None,
        }
    }

    fn aborted(&self) -> bool {
        let choices = self.choices.0.iter().flatten();
        let mut reasons = choices.filter_map(|choice| choice.finish_reason.0.as_ref()?.as_deref());
        reasons.any(|reason| reason == "abort" || reason == "error")
    }
}

/// The counts of the event that an engine sends because of `stream_options.include_usage`: one with
/// counts and an empty list of choices. `None` for any other event.
pub fn lone_usage(data: &[u8]) -> Option<Usage> {
    if !names::values(&names::USAGE, data).any(|value| value.starts_with(b"{")) {
        return None;
    }
    let members = serde_json::from_slice::<Members>(data).ok()?;
    members.choices.0.as_ref()?.is_empty().then(|| members.counts())?
}

fn worth_parsing(data: &[u8]) -> bool {
    let given = |value: &[u8]| !value.starts_with(b"null");
    names::values(&names::USAGE, data).any(given)
        || names::values(&names::ERROR, data).any(given)
        || names::values(&names::FINISH_REASON, data).any(given)
}

#[cfg(test)]
mod tests;
