use crate::{Usage, json::Json};

/// What one event of a stream says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EventFacts {
    /// The terminal marker: `[DONE]`, or the event that ends a stream of the Responses or Messages
    /// API.
    pub terminal: bool,
    /// An error of the engine inside the stream: a top-level `error`, or a choice that ended by
    /// `abort` or `error`.
    pub error: bool,
    /// Non-empty content, reasoning, tool-call text or completion `text`. An event that only opens
    /// the message with its role has none.
    pub text: bool,
    /// How many tokens it holds at least: as many as it lists by number or by log probability, as
    /// many as its count has grown by, or one if it has text.
    pub tokens: u64,
    /// Counts, if it carries any.
    pub usage: Option<Usage>,
    /// It carries counts, or claims to be JSON, and some of it cannot be read.
    pub malformed: bool,
}

/// What of a request decides how its reply is to be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Asked {
    /// Prompts.
    pub prompts: u64,
    /// Answers to each prompt, at least 1.
    pub samples: u64,
    /// The reply repeats the prompt (`echo` of `/v1/completions`): its first text is not the
    /// model's.
    pub echo: bool,
}

/// Whether a value is a string that is not empty.
pub(super) fn has_text(raw: &[u8]) -> bool {
    raw.starts_with(b"\"") && raw != b"\"\""
}

/// How long a list is.
pub(super) fn length(json: &mut Json<'_>) -> Option<u64> {
    let mut length = 0;
    json.list(|json| {
        length += 1;
        json.skip()
    })?;
    Some(length)
}

/// Whether an `object` says that what it names is an error itself, as some versions of SGLang send it.
pub(super) fn names_error(object: &[u8]) -> bool {
    object == b"\"error\""
}

/// Whether a choice that ended so was given up by the engine.
pub(super) fn is_failure(finish_reason: &str) -> bool {
    matches!(finish_reason, "abort" | "error")
}

// === impl EventFacts ===

impl EventFacts {
    /// The facts of `[DONE]`, if that is all that `data` says.
    pub(super) fn done(data: &[u8]) -> Option<Self> {
        let done = data.trim_ascii() == b"[DONE]";
        done.then_some(Self { terminal: true, ..Self::default() })
    }

    /// The facts of an event that cannot be read.
    pub(super) const MALFORMED: Self = Self {
        terminal: false,
        error: false,
        text: false,
        tokens: 0,
        usage: None,
        malformed: true,
    };
}

// === impl Asked ===

impl Default for Asked {
    /// One answer to one prompt.
    fn default() -> Self {
        Self { prompts: 1, samples: 1, echo: false }
    }
}
