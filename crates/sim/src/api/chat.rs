//! `/v1/chat/completions`.

use bytes::Bytes;
use serde::Serialize;

use super::{
    problem::Shape,
    run::{Answer, Dialect, event},
    usage::{Finish, Metadata, Usage},
};
use crate::sequence::Sequence;

/// Writes chat answers.
pub(super) struct Chat;

#[derive(Serialize)]
struct Whole<'a> {
    id: &'a str,
    object: &'a str,
    created: u64,
    model: &'a str,
    choices: Vec<Choice<'a>>,
    usage: Usage,
    metadata: Metadata,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: usize,
    message: Message<'a>,
    logprobs: Option<()>,
    finish_reason: Option<&'a str>,
    matched_stop: Option<u32>,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'a str,
    content: &'a str,
    reasoning_content: Option<()>,
}

#[derive(Serialize)]
struct Chunk<'a> {
    id: &'a str,
    object: &'a str,
    created: u64,
    model: &'a str,
    choices: &'a [ChunkChoice<'a>],
    #[serde(skip_serializing_if = "Option::is_none")]
    usage: Option<Usage>,
}

#[derive(Serialize)]
struct ChunkChoice<'a> {
    index: usize,
    delta: Delta<'a>,
    logprobs: Option<()>,
    finish_reason: Option<&'a str>,
    matched_stop: Option<u32>,
}

#[derive(Default, Serialize)]
struct Delta<'a> {
    reasoning_content: Option<()>,
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<&'a str>,
}

// === impl Chat ===

impl Dialect for Chat {
    fn whole(&self, answer: &Answer, sequences: &[Sequence]) -> Vec<u8> {
        let Finish { finish_reason, matched_stop } = Finish::of(&sequences[0]);
        let choices = sequences.iter().enumerate().map(|(index, sequence)| Choice {
            index,
            message: Message {
                role: "assistant",
                content: &sequence.text,
                reasoning_content: None,
            },
            logprobs: None,
            finish_reason,
            matched_stop,
        });
        let whole = Whole {
            id: &sequences[0].task.rid,
            object: "chat.completion",
            created: answer.created,
            model: &answer.ask.model,
            choices: choices.collect(),
            usage: Usage::of(sequences, answer.engine.config.cache_report),
            metadata: Metadata::of(&sequences[0]),
        };
        serde_json::to_vec(&whole).unwrap_or_default()
    }

    fn opening(&self, answer: &Answer, index: usize, sequence: &Sequence) -> Option<Bytes> {
        let delta = Delta { role: Some("assistant"), content: Some(""), ..Delta::default() };
        let choice = choice(index, delta, Finish::NONE);
        Some(chunk(answer, sequence, &[choice], None))
    }

    fn piece(&self, answer: &Answer, index: usize, sequence: &Sequence, text: &str) -> Bytes {
        let delta = Delta { content: Some(text), ..Delta::default() };
        let cache_report = answer.engine.config.cache_report;
        let usage = answer.ask.continuous_usage.then(|| Usage::so_far(sequence, cache_report));
        chunk(answer, sequence, &[choice(index, delta, Finish::NONE)], usage)
    }

    /// SGLang closes every choice under the id of one of them.
    fn closing(&self, answer: &Answer, index: usize, sequences: &[Sequence]) -> Option<Bytes> {
        let finish = Finish::of(&sequences[index]);
        let choice = choice(index, Delta::default(), finish);
        Some(chunk(answer, &sequences[0], &[choice], None))
    }

    fn usage(&self, answer: &Answer, sequences: &[Sequence]) -> Option<Bytes> {
        let usage = Usage::of(sequences, answer.engine.config.cache_report);
        Some(chunk(answer, &sequences[0], &[], Some(usage)))
    }

    fn shape(&self) -> Shape {
        Shape::Flat
    }
}

fn choice(index: usize, delta: Delta<'_>, finish: Finish) -> ChunkChoice<'_> {
    let Finish { finish_reason, matched_stop } = finish;
    ChunkChoice { index, delta, logprobs: None, finish_reason, matched_stop }
}

fn chunk(
    answer: &Answer,
    sequence: &Sequence,
    choices: &[ChunkChoice<'_>],
    usage: Option<Usage>,
) -> Bytes {
    event(&Chunk {
        id: &sequence.task.rid,
        object: "chat.completion.chunk",
        created: answer.created,
        model: &answer.ask.model,
        choices,
        usage,
    })
}
