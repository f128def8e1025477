//! Token counts as an engine states them.

use std::borrow::Cow;

use crate::{
    count::Count,
    json::{Json, once},
};

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
    /// Not there, or null; or of something that is not counted in tokens.
    #[default]
    Absent,
    Given(Stated),
    /// Something from which no count can be read.
    Malformed,
}

/// Counts as one `usage` object states them, under the names of any API.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Stated {
    /// `prompt_tokens`, or `input_tokens` of the Responses and Messages APIs.
    pub(crate) input: Option<u64>,
    /// `completion_tokens`, or `output_tokens`.
    pub(crate) output: Option<u64>,
    pub(crate) total: Option<u64>,
    pub(crate) cached: Option<u64>,
    pub(crate) reasoning: Option<u64>,
    /// `cache_read_input_tokens` of the Messages API, there no part of `input`.
    pub(crate) cache_read: Option<u64>,
    /// `cache_creation_input_tokens`, no part of `input` either.
    pub(crate) cache_creation: Option<u64>,
    /// One of them was no count.
    pub(crate) malformed: bool,
}

/// The members of a usage object, as chat and completions, the Responses API and the Messages API
/// name them. (SGLang up to 0.5.17 puts those of chat into a Responses object.)
#[derive(Default)]
struct Members<'a> {
    prompt_tokens: Option<Count>,
    completion_tokens: Option<Count>,
    total_tokens: Option<Count>,
    /// Of details, the one count that matters.
    prompt_tokens_details: Option<Option<Count>>,
    completion_tokens_details: Option<Option<Count>>,
    /// SGLang's, beside the details.
    reasoning_tokens: Option<Count>,
    input_tokens: Option<Count>,
    output_tokens: Option<Count>,
    input_tokens_details: Option<Option<Count>>,
    output_tokens_details: Option<Option<Count>>,
    cache_read_input_tokens: Option<Count>,
    cache_creation_input_tokens: Option<Count>,
    /// `duration` where a transcription is billed by the second.
    kind: Option<Option<Cow<'a, str>>>,
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

    /// The counts once `newer` ones have been stated: what those leave open stands.
    #[must_use]
    pub fn updated(self, newer: Self) -> Self {
        Self {
            prompt: newer.prompt.or(self.prompt),
            completion: newer.completion.or(self.completion),
            cached: newer.cached.or(self.cached),
            reasoning: newer.reasoning.or(self.reasoning),
        }
    }

    /// No part is larger than its whole. Counts that are not so are kept as they were stated.
    pub fn is_consistent(self) -> bool {
        let within = |part: Option<u64>, whole: Option<u64>| {
            part.zip(whole).is_none_or(|(part, whole)| part <= whole)
        };
        within(self.cached, self.prompt) && within(self.reasoning, self.completion)
    }
}

// === impl UsageField ===

impl UsageField {
    /// Reads the value of a `usage` member.
    pub(crate) fn read(json: &mut Json<'_>) -> Option<Self> {
        if json.null() {
            return Some(Self::Absent);
        }
        Some(
            json.lenient(|json| json.members(Members::put))?
                .map_or(Self::Malformed, Members::field),
        )
    }

    pub(crate) fn given(self) -> Option<Stated> {
        match self {
            Self::Given(stated) => Some(stated),
            Self::Absent | Self::Malformed => None,
        }
    }

    /// What stands there as one API means it, and whether some of it cannot be read, or contradicts
    /// the rest: a total that is not the sum of its parts.
    pub(crate) fn counts(self, meant: fn(Stated) -> Option<Usage>) -> (Option<Usage>, bool) {
        match self {
            Self::Given(stated) => {
                let usage = meant(stated);
                (usage, stated.malformed || usage.is_none() || stated.is_off())
            }
            Self::Malformed => (None, true),
            Self::Absent => (None, false),
        }
    }
}

// === impl Members ===

impl<'a> Members<'a> {
    fn put(&mut self, json: &mut Json<'a>, name: &[u8]) -> Option<()> {
        let count = match name {
            b"prompt_tokens" => &mut self.prompt_tokens,
            b"completion_tokens" => &mut self.completion_tokens,
            b"total_tokens" => &mut self.total_tokens,
            b"reasoning_tokens" => &mut self.reasoning_tokens,
            b"input_tokens" => &mut self.input_tokens,
            b"output_tokens" => &mut self.output_tokens,
            b"cache_read_input_tokens" => &mut self.cache_read_input_tokens,
            b"cache_creation_input_tokens" => &mut self.cache_creation_input_tokens,
            b"type" => return once(&mut self.kind, json.lenient(Json::string)?),
            _ => return self.put_details(json, name),
        };
        once(count, Count::read(json)?)
    }

    fn put_details(&mut self, json: &mut Json<'a>, name: &[u8]) -> Option<()> {
        let (details, count): (_, &[u8]) = match name {
            b"prompt_tokens_details" => (&mut self.prompt_tokens_details, b"cached_tokens"),
            b"input_tokens_details" => (&mut self.input_tokens_details, b"cached_tokens"),
            b"completion_tokens_details" => {
                (&mut self.completion_tokens_details, b"reasoning_tokens")
            }
            b"output_tokens_details" => (&mut self.output_tokens_details, b"reasoning_tokens"),
            _ => return json.skip(),
        };
        let read = |json: &mut Json<'a>| json.member(count, Count::read);
        once(details, json.lenient(read)?.map(Option::unwrap_or_default))
    }

    fn field(self) -> UsageField {
        let details = |a: Option<Option<_>>, b: Option<_>| a.flatten().or(b.flatten());
        let cached = details(self.prompt_tokens_details, self.input_tokens_details);
        let reasoning = details(self.completion_tokens_details, self.output_tokens_details);
        let or =
            |a: Option<Count>, b: Option<Count>| a.unwrap_or_default().or(b.unwrap_or_default());
        let counts = [
            or(self.prompt_tokens, self.input_tokens),
            or(self.completion_tokens, self.output_tokens),
            self.total_tokens.unwrap_or_default(),
            cached.unwrap_or_default(),
            or(reasoning, self.reasoning_tokens),
            self.cache_read_input_tokens.unwrap_or_default(),
            self.cache_creation_input_tokens.unwrap_or_default(),
        ];
        let malformed = counts.contains(&Count::Malformed);
        let [input, output, total, cached, reasoning, cache_read, cache_creation] =
            counts.map(Count::get);
        if input.or(output).or(total).is_some() {
            return UsageField::Given(Stated {
                input,
                output,
                total,
                cached,
                reasoning,
                cache_read,
                cache_creation,
                malformed,
            });
        }
        match self.kind.flatten() {
            Some(kind) if kind == "duration" && !malformed => UsageField::Absent,
            _ => UsageField::Malformed,
        }
    }
}

// === impl Stated ===

impl Stated {
    /// As chat, completions and the Responses API mean them. `None` where a total stands alone.
    pub(crate) fn chat(self) -> Option<Usage> {
        let Self { input: prompt, output: completion, cached, reasoning, .. } = self;
        let usage = Usage { prompt, completion, cached, reasoning };
        (prompt.is_some() || completion.is_some()).then_some(usage)
    }

    /// As routes that write no text mean them: the prompt is all there is.
    pub(crate) fn pooling(self) -> Option<Usage> {
        Self { input: self.input.or(self.total), ..self }.chat()
    }

    /// As the Messages API means them: what was read from or written to the cache comes on top.
    pub(crate) fn messages(self) -> Option<Usage> {
        let mut on_top = [self.cache_read, self.cache_creation].into_iter().flatten();
        let input = self.input.and_then(|input| on_top.try_fold(input, u64::checked_add));
        Self { input, cached: self.cache_read.or(self.cached), ..self }.chat()
    }

    /// The counts once `newer` ones have been stated.
    pub(crate) fn updated(self, newer: Self) -> Self {
        Self {
            input: newer.input.or(self.input),
            output: newer.output.or(self.output),
            total: newer.total.or(self.total),
            cached: newer.cached.or(self.cached),
            reasoning: newer.reasoning.or(self.reasoning),
            cache_read: newer.cache_read.or(self.cache_read),
            cache_creation: newer.cache_creation.or(self.cache_creation),
            malformed: self.malformed || newer.malformed,
        }
    }

    /// A total that is not the sum of its parts.
    fn is_off(self) -> bool {
        let sum = self.input.zip(self.output).map(|(input, output)| input.saturating_add(output));
        self.total.zip(sum).is_some_and(|(total, sum)| total != sum)
    }
}

#[cfg(test)]
mod tests {
    use super::{Stated, Usage, UsageField};
    use crate::json::Json;

    fn field(text: &str) -> UsageField {
        Json::whole(text.as_bytes(), UsageField::read).unwrap()
    }

    fn given(prompt: u64, completion: u64) -> Usage {
        Usage { prompt: Some(prompt), completion: Some(completion), ..Usage::default() }
    }

    #[test]
    fn chat_shapes() {
        let sglang = Usage { reasoning: Some(0), ..given(24, 5) };
        let detailed = Usage { cached: Some(6), reasoning: Some(3), ..given(24, 5) };
        let prompt_only = Usage { completion: None, ..given(24, 0) };
        let zero = Usage { cached: Some(0), ..given(0, 0) };
        for (text, want, malformed) in [
            (
                r#"{"prompt_tokens":24,"total_tokens":29,"completion_tokens":5,"prompt_tokens_details":null,"reasoning_tokens":0,"completion_tokens_details":null}"#,
                Some(sglang),
                false,
            ),
            (
                r#"{"prompt_tokens":24,"completion_tokens":5,"reasoning_tokens":0,"prompt_tokens_details":{"cached_tokens":6,"audio_tokens":null},"completion_tokens_details":{"reasoning_tokens":3}}"#,
                Some(detailed),
                false,
            ),
            (
                r#"{"input_tokens":24,"input_tokens_details":{"cached_tokens":6},"output_tokens":5,"output_tokens_details":{"reasoning_tokens":3},"total_tokens":29}"#,
                Some(detailed),
                false,
            ),
            (
                r#"{"prompt_tokens":24,"completion_tokens":5,"prompt_tokens_details":"?","completion_tokens_details":[]}"#,
                Some(given(24, 5)),
                false,
            ),
            (
                r#"{"prompt_tokens":24,"completion_tokens":5,"prompt_tokens_details":{"cached_tokens":null}}"#,
                Some(given(24, 5)),
                false,
            ),
            (
                r#"{"prompt_tokens":0,"completion_tokens":0,"prompt_tokens_details":{"cached_tokens":0}}"#,
                Some(zero),
                false,
            ),
            (r#"{"prompt_tokens":24,"completion_tokens":null}"#, Some(prompt_only), false),
            (r#"{"prompt_tokens":24,"completion_tokens":1e99}"#, Some(prompt_only), true),
            (r#"{"prompt_tokens":24,"completion_tokens":-5}"#, Some(prompt_only), true),
            ("null", None, false),
            (r#"{"type":"duration","seconds":3}"#, None, false),
            ("{}", None, true),
            (r#"{"total_tokens":9}"#, None, true),
            (r#""n/a""#, None, true),
            ("[3,4]", None, true),
            (
                r#"{"prompt_tokens":24,"completion_tokens":5,"prompt_tokens_details":[7]}"#,
                Some(given(24, 5)),
                false,
            ),
            (r#"{"prompt_tokens":-1,"completion_tokens":-1}"#, None, true),
        ] {
            assert_eq!(field(text).counts(Stated::chat), (want, malformed), "{text}");
        }
    }

    #[test]
    fn shapes_of_other_apis() {
        let prompt_only = Usage { completion: None, ..given(9, 0) };
        let cached = Usage { cached: Some(16), ..given(21, 6) };
        for (text, meant, want) in [
            (r#"{"total_tokens":9}"#, Stated::pooling as fn(Stated) -> _, prompt_only),
            (r#"{"prompt_tokens":9,"total_tokens":9}"#, Stated::pooling, prompt_only),
            (r#"{"prompt_tokens":9,"completion_tokens":0}"#, Stated::pooling, given(9, 0)),
            (
                r#"{"input_tokens":2,"cache_read_input_tokens":16,"cache_creation_input_tokens":3,"output_tokens":6}"#,
                Stated::messages,
                cached,
            ),
            (r#"{"input_tokens":2,"output_tokens":6}"#, Stated::messages, given(2, 6)),
        ] {
            assert_eq!(field(text).counts(meant), (Some(want), false), "{text}");
        }
    }

    #[test]
    fn a_sum_is_known_only_where_both_parts_are() {
        let sum = given(1, 2).plus(Usage { completion: None, ..given(3, 0) });
        assert_eq!(sum, Usage { prompt: Some(4), ..Usage::default() });
        assert_eq!(given(u64::MAX, 0).plus(given(1, 0)).prompt, None);
    }

    #[test]
    fn what_is_stated_later_stands() {
        let early = Usage { cached: Some(3), ..given(7, 0) };
        let late = Usage { reasoning: Some(1), ..given(7, 4) };
        let both = Usage { cached: Some(3), reasoning: Some(1), ..given(7, 4) };
        assert_eq!(early.updated(late), both);
    }

    #[test]
    fn contradictions_are_seen() {
        assert!(given(7, 4).is_consistent());
        assert!(!Usage { cached: Some(8), ..given(7, 4) }.is_consistent());
        assert!(!Usage { reasoning: Some(5), ..given(7, 4) }.is_consistent());
        let stated = Stated { input: Some(7), output: Some(4), ..Stated::default() };
        assert!(Stated { total: Some(12), ..stated }.is_off() && !stated.is_off());
    }
}
