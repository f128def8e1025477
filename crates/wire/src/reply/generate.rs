//! `/generate`, SGLang's own: counts in the `meta_info` of each prompt's sample, in a stream the
//! cumulative ones in every event.

use std::borrow::Cow;

use super::{Answer, Asked, EventFacts, choices::Choices, facts::is_failure};
use crate::{
    Usage,
    count::Count,
    json::{Json, once},
};

/// What a stream of events has stated so far: the samples of a batch take turns, told apart by
/// their index.
#[derive(Debug, Default)]
pub(super) struct GenerateTally {
    asked: Asked,
    samples: Choices<Sample>,
}

/// One sample so far.
#[derive(Debug, Default)]
struct Sample {
    usage: Usage,
    /// How long its text is, as it is written in JSON: it is repeated in each event.
    text: usize,
    finish_reason: Option<String>,
}

/// One event, or one answer: the text so far and its counts, or an error.
#[derive(Default)]
struct Native {
    index: Option<Option<u64>>,
    /// How long the text is, as it is written.
    text: Option<usize>,
    meta_info: Option<Option<MetaInfo>>,
    /// It has an `error`.
    error: Option<bool>,
}

/// The counts of one sample, as of SGLang 0.5.23.
#[derive(Default)]
struct MetaInfo {
    prompt_tokens: Option<Count>,
    completion_tokens: Option<Count>,
    cached_tokens: Option<Count>,
    reasoning_tokens: Option<Count>,
    finish_reason: Option<Option<String>>,
}

/// Reads a JSON answer: one sample, or a list of them.
pub(super) fn read_answer(asked: Asked, body: &[u8]) -> Answer {
    let list = body.trim_ascii_start().strip_prefix(b"[").map(<[u8]>::trim_ascii_start);
    if list.is_some_and(|inside| inside.starts_with(b"[")) {
        return Answer { malformed: true, ..Answer::default() };
    }
    let mut natives = Vec::new();
    let read = Json::whole(body, |json| match json.peek()? {
        b'[' => json.list(|json| {
            natives.push(Native::read(json)?);
            Some(())
        }),
        _ => {
            natives.push(Native::read(json)?);
            Some(())
        }
    });
    if read.is_none() {
        return Answer::unread(body);
    }
    let mut tally = GenerateTally::new(asked);
    let facts: Vec<_> =
        (0..).zip(natives).map(|(index, native)| tally.take(index, native)).collect();
    Answer {
        model: None,
        usage: tally.usage(),
        error: facts.iter().any(|facts| facts.error),
        malformed: facts.iter().any(|facts| facts.malformed),
        finish_reasons: tally.finish_reasons().map(str::to_owned).collect(),
    }
}

// === impl GenerateTally ===

impl GenerateTally {
    pub(super) fn new(asked: Asked) -> Self {
        Self { asked, samples: Choices::default() }
    }

    pub(super) fn read(&mut self, data: &[u8]) -> EventFacts {
        if let Some(done) = EventFacts::done(data) {
            return done;
        }
        Json::whole(data, Native::read).map_or(EventFacts::MALFORMED, |native| {
            self.take(native.index.flatten().unwrap_or_default(), native)
        })
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        // Samples without counts make the whole unknown, not smaller.
        let sum = self.samples.sum(self.asked.samples, |sample| sample.usage);
        sum.filter(|&usage| usage != Usage::default())
    }

    /// All samples that were asked for have ended.
    pub(super) fn is_final(&self) -> bool {
        let ended = self.samples.values().filter(|sample| sample.finish_reason.is_some()).count();
        ended as u64 >= self.asked.prompts.saturating_mul(self.asked.samples).max(1)
    }

    pub(super) fn finish_reasons(&self) -> impl Iterator<Item = &str> {
        self.samples.values().filter_map(|sample| sample.finish_reason.as_deref())
    }

    fn take(&mut self, index: u64, native: Native) -> EventFacts {
        let error = native.error.unwrap_or_default();
        let Some(meta) = native.meta_info.flatten() else {
            if !error {
                self.samples.entry(index);
            }
            return EventFacts { error, ..EventFacts::default() };
        };
        let (usage, malformed) = meta.usage();
        let reason = meta.finish_reason.flatten();
        let error = error || reason.as_deref().is_some_and(is_failure);
        let mut facts = EventFacts { error, usage, malformed, ..EventFacts::default() };
        let Some(sample) = self.samples.entry(index) else { return facts };
        let text = native.text.unwrap_or_default();
        let grown = usage.and_then(|usage| usage.completion).map(|completion| {
            completion.saturating_sub(sample.usage.completion.unwrap_or_default())
        });
        let longer = text > sample.text.max("\"\"".len());
        facts.tokens = grown.unwrap_or(u64::from(longer));
        facts.text = facts.tokens > 0;
        sample.usage = sample.usage.updated(usage.unwrap_or_default());
        sample.text = text;
        sample.finish_reason = reason.or(sample.finish_reason.take());
        facts
    }
}

// === impl Native ===

impl Native {
    fn read(json: &mut Json<'_>) -> Option<Self> {
        json.members(|native: &mut Self, json, name| match name {
            b"index" => once(&mut native.index, index(json)?),
            b"text" if json.null() => once(&mut native.text, 0),
            b"text" => once(&mut native.text, json.raw()?.len()),
            b"meta_info" => once(&mut native.meta_info, json.lenient(MetaInfo::read)?),
            b"error" => once(&mut native.error, json.given()?),
            _ => json.skip(),
        })
    }
}

/// The place of a sample: null, or a whole number.
fn index(json: &mut Json<'_>) -> Option<Option<u64>> {
    serde_json::from_slice(json.raw()?).ok()
}

// === impl MetaInfo ===

impl MetaInfo {
    fn read(json: &mut Json<'_>) -> Option<Self> {
        json.members(|meta: &mut Self, json, name| {
            let count = match name {
                b"prompt_tokens" => &mut meta.prompt_tokens,
                b"completion_tokens" => &mut meta.completion_tokens,
                b"cached_tokens" => &mut meta.cached_tokens,
                b"reasoning_tokens" => &mut meta.reasoning_tokens,
                b"finish_reason" => {
                    return once(&mut meta.finish_reason, json.lenient(finish_reason)?);
                }
                _ => return json.skip(),
            };
            once(count, Count::read(json)?)
        })
    }

    /// The counts, and whether one of them cannot be read.
    fn usage(&self) -> (Option<Usage>, bool) {
        let counts =
            [self.prompt_tokens, self.completion_tokens, self.cached_tokens, self.reasoning_tokens];
        let [prompt, completion, cached, reasoning] =
            counts.map(|count| count.and_then(Count::get));
        let stated = (prompt.is_some() || completion.is_some()).then_some(Usage {
            prompt,
            completion,
            cached,
            reasoning,
        });
        (stated, counts.contains(&Some(Count::Malformed)))
    }
}

/// The `type` of the reason that stands here.
fn finish_reason(json: &mut Json<'_>) -> Option<String> {
    json.member(b"type", Json::string)?.map(Cow::into_owned)
}

#[cfg(test)]
mod tests {
    use super::{GenerateTally, read_answer};
    use crate::{
        Usage,
        reply::{Answer, Asked},
    };

    fn usage(prompt: u64, completion: u64, cached: u64) -> Usage {
        let (prompt, completion) = (Some(prompt), Some(completion));
        Usage { prompt, completion, cached: Some(cached), reasoning: None }
    }

    fn event(index: u64, prompt: u64, completion: u64, reason: &str) -> String {
        format!(
            "{{\"index\":{index},\"text\":\"x\",\"meta_info\":{{\"finish_reason\":{reason},\"prompt_tokens\":{prompt},\"completion_tokens\":{completion},\"cached_tokens\":1}}}}"
        )
    }

    #[test]
    fn the_samples_of_a_batch_take_turns() {
        let end = r#"{"type":"length"}"#;
        let mut tally = GenerateTally::new(Asked { prompts: 2, ..Asked::default() });
        let tokens: Vec<_> = [
            event(0, 4, 1, "null"),
            event(1, 5, 3, "null"),
            event(1, 5, 3, end),
            event(0, 4, 2, "null"),
        ]
        .iter()
        .map(|event| tally.read(event.as_bytes()).tokens)
        .collect();
        assert_eq!((tokens, tally.usage()), (vec![1, 3, 0, 1], Some(usage(9, 5, 2))));
        assert!(!tally.is_final());
        tally.read(event(0, 4, 2, end).as_bytes());
        assert!(tally.is_final());
        assert_eq!(tally.finish_reasons().collect::<Vec<_>>(), ["length", "length"]);
    }

    #[test]
    fn text_counts_where_no_count_is_given() {
        let mut tally = GenerateTally::new(Asked::default());
        let event = |text| format!("{{\"text\":\"{text}\",\"meta_info\":{{}}}}");
        let tokens = ["", "a", "ab", "ab"].map(|text| tally.read(event(text).as_bytes()).tokens);
        assert_eq!((tokens, tally.usage()), ([0, 1, 1, 0], None));
    }

    #[test]
    fn answers() {
        let two = r#"{"meta_info":{"prompt_tokens":4,"completion_tokens":2,"cached_tokens":0,"finish_reason":{"type":"stop"}}}"#;
        let aborted = r#"{"text":"","meta_info":{"finish_reason":{"type":"abort"},"prompt_tokens":4,"completion_tokens":0,"cached_tokens":0}}"#;
        let no_count = r#"{"meta_info":{"prompt_tokens":4,"completion_tokens":-1}}"#;
        let stop = |n| vec!["stop".to_owned(); n];
        let none = Answer::default();
        for (body, samples, want) in [
            (
                two.to_owned(),
                1,
                Answer { usage: Some(usage(4, 2, 0)), finish_reasons: stop(1), ..none.clone() },
            ),
            (
                format!("[{two},{two}]"),
                1,
                Answer { usage: Some(usage(8, 4, 0)), finish_reasons: stop(2), ..none.clone() },
            ),
            (
                format!("[{two},{two}]"),
                2,
                Answer { usage: Some(usage(4, 4, 0)), finish_reasons: stop(2), ..none.clone() },
            ),
            (
                aborted.to_owned(),
                1,
                Answer {
                    usage: Some(usage(4, 0, 0)),
                    error: true,
                    finish_reasons: vec!["abort".to_owned()],
                    ..none.clone()
                },
            ),
            (
                no_count.to_owned(),
                1,
                Answer {
                    usage: Some(Usage { prompt: Some(4), ..Usage::default() }),
                    malformed: true,
                    ..none.clone()
                },
            ),
            (r#"{"error":{"message":"m"}}"#.to_owned(), 1, Answer { error: true, ..none.clone() }),
            // One that says nothing of its counts makes the whole unknown, not smaller.
            (
                format!("[{{\"text\":\"a\"}},{two}]"),
                1,
                Answer { finish_reasons: stop(1), ..none.clone() },
            ),
            ("[]".to_owned(), 1, none.clone()),
            ("<html>".to_owned(), 1, Answer { malformed: true, ..none.clone() }),
        ] {
            let asked = Asked { samples, ..Asked::default() };
            assert_eq!(read_answer(asked, body.as_bytes()), want, "{body}");
        }
    }
}
