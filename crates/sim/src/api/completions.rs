//! `/v1/completions`.

use bytes::Bytes;
use serde::Serialize;

use super::{
    problem::Shape,
    run::{Answer, Dialect, event},
    usage::{Finish, Metadata, ShortUsage, Usage},
};
use crate::sequence::Sequence;

/// Writes text completions.
pub(super) struct Completions;

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

/// Unlike a chat's, a text chunk always has `usage`, mostly null.
#[derive(Serialize)]
struct Chunk<'a> {
    id: &'a str,
    object: &'a str,
    created: u64,
    model: &'a str,
    choices: &'a [Choice<'a>],
    usage: Option<ShortUsage>,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: usize,
    text: &'a str,
    logprobs: Option<()>,
    finish_reason: Option<&'a str>,
    matched_stop: Option<u32>,
}

// === impl Completions ===

impl Dialect for Completions {
    fn whole(&self, answer: &Answer, sequences: &[Sequence]) -> Vec<u8> {
        let finish = Finish::of(&sequences[0]);
        let choices = sequences.iter().enumerate();
        let whole = Whole {
            id: &sequences[0].task.rid,
            object: "text_completion",
            created: answer.created,
            model: &answer.ask.model,
            choices: choices.map(|(at, sequence)| choice(at, &sequence.text, finish)).collect(),
            usage: Usage::of(sequences, answer.engine.config.cache_report),
            metadata: Metadata::of(&sequences[0]),
        };
        serde_json::to_vec(&whole).unwrap_or_default()
    }

    fn piece(&self, answer: &Answer, index: usize, sequence: &Sequence, text: &str) -> Bytes {
        let ended = sequence.is_done();
        let finish = if ended { Finish::of(sequence) } else { Finish::NONE };
        let cache_report = answer.engine.config.cache_report;
        let usage =
            answer.ask.continuous_usage.then(|| Usage::so_far(sequence, cache_report).short());
        chunk(answer, sequence, &[choice(index, text, finish)], usage)
    }

    fn usage(&self, answer: &Answer, sequences: &[Sequence]) -> Option<Bytes> {
        let usage = Usage::of(sequences, answer.engine.config.cache_report);
        Some(chunk(answer, &sequences[0], &[], Some(usage.short())))
    }

    fn shape(&self) -> Shape {
        Shape::Flat
    }
}

fn choice(index: usize, text: &str, finish: Finish) -> Choice<'_> {
    let Finish { finish_reason, matched_stop } = finish;
    Choice { index, text, logprobs: None, finish_reason, matched_stop }
}

fn chunk(
    answer: &Answer,
    sequence: &Sequence,
    choices: &[Choice<'_>],
    usage: Option<ShortUsage>,
) -> Bytes {
    event(&Chunk {
        id: &sequence.task.rid,
        object: "text_completion",
        created: answer.created,
        model: &answer.ask.model,
        choices,
        usage,
    })
}
