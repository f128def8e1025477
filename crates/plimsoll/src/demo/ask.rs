//! What the demo's clients ask.

use plimsoll_wire::Endpoint;
use serde_json::{Value, json};

/// The model that is served.
pub(super) const MODEL: &str = "demo-llama";

/// How often a text is repeated, to make a prompt of a few hundred tokens.
const REPEATED: usize = 4;

/// What requests have in common: each prompt begins with one of these, as those of an application
/// begin with its instructions, so that prefill finds that part in its cache.
const INSTRUCTIONS: [&str; 3] = [
    "You answer questions about the loading of ships. Be exact about marks and seasons, give \
     weights in tonnes, and say which convention a rule comes from. Where water is fresh, say how \
     far a ship rises when it reaches the sea. ",
    "You are the night desk of a harbour office. Answer pilots in short sentences, name berths by \
     their number, repeat times in full, and never guess a depth: send the caller to the survey \
     of the week when a sounding is missing. ",
    "You keep the log of a research vessel. Turn what the watch reports into one line of wind, \
     sea, course and speed, keep the order in which things happened, and mark as open whatever \
     the next watch must look at again. ",
];

const QUESTIONS: [&str; 4] = [
    "What does the line marked W stand for?",
    "How much more may we take on before noon?",
    "Which entry is still open from yesterday?",
    "Where do we wait for the tide tonight?",
];

/// One request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ask {
    /// Which one, from 0: a request's content follows from its number.
    pub(super) number: u64,
    endpoint: Endpoint,
    stream: bool,
    /// A stream is asked for its usage.
    usage: bool,
}

// === impl Ask ===

impl Ask {
    /// A request whose reply states its usage: streams and whole answers of all three routes in
    /// turn.
    pub(super) fn with_usage(number: u64) -> Self {
        let endpoint = [Endpoint::Chat, Endpoint::Completions, Endpoint::Generate];
        let endpoint = endpoint[(number / 2 % 3) as usize];
        Self { number, endpoint, stream: number % 2 == 0, usage: true }
    }

    /// The same, but that every other stream is not asked for its usage, as most clients do it.
    pub(super) fn as_usual(number: u64) -> Self {
        Self { usage: number % 4 == 0, ..Self::with_usage(number) }
    }

    /// The route.
    pub(super) fn path(self) -> &'static str {
        match self.endpoint {
            Endpoint::Chat => "/v1/chat/completions",
            Endpoint::Completions => "/v1/completions",
            _ => "/generate",
        }
    }

    /// The body.
    pub(super) fn body(self) -> Vec<u8> {
        let instructions = self.choose(&INSTRUCTIONS, 6).repeat(REPEATED);
        let question = format!("{} (question {})", self.choose(&QUESTIONS, 1), self.number + 1);
        let prompt = format!("{instructions}{question}");
        let max_tokens = 24 + self.number * 17 % 65;
        let mut body = match self.endpoint {
            Endpoint::Chat => json!({"messages": [
                {"role": "system", "content": instructions},
                {"role": "user", "content": question},
            ]}),
            Endpoint::Completions => json!({"prompt": prompt}),
            _ => json!({"text": prompt, "sampling_params": {"max_new_tokens": max_tokens}}),
        };
        if self.endpoint.has_stream_options() {
            body["model"] = Value::from(MODEL);
            body["max_tokens"] = Value::from(max_tokens);
            if self.stream && self.usage {
                body["stream_options"] = json!({"include_usage": true});
            }
        }
        body["stream"] = Value::from(self.stream);
        body.to_string().into_bytes()
    }

    /// One of the texts; the next one after so many requests.
    fn choose(self, texts: &[&'static str], requests: u64) -> &'static str {
        texts[(self.number / requests) as usize % texts.len()]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn body(ask: Ask) -> Value {
        serde_json::from_slice(&ask.body()).unwrap()
    }

    #[test]
    fn six_requests_cover_all_routes_both_ways() {
        let mut forms: Vec<_> =
            (0..6).map(Ask::with_usage).map(|ask| (ask.path(), ask.stream)).collect();
        forms.sort_unstable();
        forms.dedup();
        assert_eq!(forms.len(), 6);
    }

    #[test]
    fn streams_ask_for_usage_always_or_every_other_time() {
        let asks = |ask: Ask| body(ask)["stream_options"]["include_usage"] == true;
        for number in [0, 2, 6, 8] {
            assert!(asks(Ask::with_usage(number)), "{number}");
        }
        assert!(asks(Ask::as_usual(0)) && !asks(Ask::as_usual(6)));
    }
}
