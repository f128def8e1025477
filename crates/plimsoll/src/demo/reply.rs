//! The token counts that a reply states.
//!
//! Read here once more, apart from the meter: what is compared with the meter's counts must not
//! come from its own reader.

use serde_json::Value;

/// Token counts of one reply, or of several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Tokens {
    pub(super) prompt: u64,
    /// Prompt tokens that were in the cache.
    pub(super) cached: u64,
    pub(super) completion: u64,
}

// === impl Tokens ===

impl Tokens {
    /// The counts stated last in a reply of any of the three routes, streamed or whole.
    pub(super) fn stated(reply: &[u8]) -> Option<Self> {
        match serde_json::from_slice(reply) {
            Ok(whole) => Self::of(&whole),
            Err(_) => {
                let lines = reply.split(|&byte| byte == b'\n').rev();
                let data = lines.filter_map(|line| line.strip_prefix(b"data:"));
                let mut events = data.filter_map(|data| serde_json::from_slice(data).ok());
                events.find_map(|event| Self::of(&event))
            }
        }
    }

    pub(super) fn add(&mut self, other: Self) {
        self.prompt += other.prompt;
        self.cached += other.cached;
        self.completion += other.completion;
    }

    /// The counts of an answer or event: in `usage`, or where `/generate` puts them.
    fn of(document: &Value) -> Option<Self> {
        let (usage, native) = (&document["usage"], &document["meta_info"]);
        let (counts, cached) = match usage.is_object() {
            true => (usage, &usage["prompt_tokens_details"]["cached_tokens"]),
            false => (native, &native["cached_tokens"]),
        };
        Some(Self {
            prompt: counts["prompt_tokens"].as_u64()?,
            cached: cached.as_u64().unwrap_or_default(),
            completion: counts["completion_tokens"].as_u64()?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_counts_stated_last() {
        let seven = Some(Tokens { prompt: 7, cached: 3, completion: 2 });
        let usage = r#""usage":{"prompt_tokens":7,"completion_tokens":2,"prompt_tokens_details":{"cached_tokens":3}}"#;
        let native = r#""meta_info":{"prompt_tokens":7,"cached_tokens":3,"completion_tokens":2}"#;
        let earlier = r#""meta_info":{"prompt_tokens":7,"cached_tokens":3,"completion_tokens":1}"#;
        for (reply, want) in [
            (format!("{{{usage}}}"), seven),
            (format!("{{\"text\":\"\",{native}}}\n"), seven),
            (format!("data: {{\"usage\":null}}\n\ndata: {{{usage}}}\n\ndata: [DONE]\n\n"), seven),
            (format!("data: {{{earlier}}}\n\ndata: {{{native}}}\n\ndata: [DONE]\n\n"), seven),
            ("data: {\"choices\":[]}\n\ndata: [DONE]\n\n".to_owned(), None),
            ("{\"error\":{}}".to_owned(), None),
        ] {
            assert_eq!(Tokens::stated(reply.as_bytes()), want, "{reply}");
        }
    }
}
