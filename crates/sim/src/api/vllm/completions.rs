//! `/v1/completions`.

use bytes::Bytes;
use serde::Serialize;

use super::{Null, fingerprint, finish_reason, transfer::Transfer, usage::Usage};
use crate::{
    api::{
        problem::Shape,
        run::{Answer, Dialect, event},
    },
    sequence::Sequence,
};

/// Writes text completions.
pub(in crate::api) struct Completions;

#[derive(Serialize)]
struct Whole<'a> {
    id: &'a str,
    object: &'a str,
    created: u64,
    model: &'a str,
    choices: Vec<Choice<'a>>,
    service_tier: Null,
    system_fingerprint: String,
    usage: Usage,
    kv_transfer_params: Option<Transfer<'a>>,
    ec_transfer_params: Null,
    metrics: Null,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: usize,
    text: &'a str,
    logprobs: Null,
    finish_reason: &'a str,
    stop_reason: Null,
    token_ids: Null,
    prompt_logprobs: Null,
    prompt_token_ids: Null,
    routed_experts: Null,
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
    #[serde(skip_serializing_if = "Option::is_none")]
    system_fingerprint: Option<String>,
}

#[derive(Serialize)]
struct ChunkChoice<'a> {
    index: usize,
    text: &'a str,
    logprobs: Null,
    finish_reason: Option<&'a str>,
    stop_reason: Null,
    prompt_token_ids: Null,
    token_ids: Null,
}

// === impl Completions ===

impl Dialect for Completions {
    fn whole(&self, answer: &Answer, sequences: &[Sequence]) -> Vec<u8> {
        let choices = sequences.iter().enumerate().map(|(index, sequence)| Choice {
            index,
            text: &sequence.text,
            logprobs: None,
            finish_reason: finish_reason(sequence),
            stop_reason: None,
            token_ids: None,
            prompt_logprobs: None,
            prompt_token_ids: None,
            routed_experts: None,
        });
        let whole = Whole {
            id: &sequences[0].task.rid,
            object: "text_completion",
            created: answer.created,
            model: &answer.ask.model,
            choices: choices.collect(),
            service_tier: None,
            system_fingerprint: fingerprint(&answer.engine),
            usage: Usage::whole(answer, sequences, false),
            kv_transfer_params: Transfer::of(&answer.engine, sequences),
            ec_transfer_params: None,
            metrics: None,
        };
        serde_json::to_vec(&whole).unwrap_or_default()
    }

    fn piece(&self, answer: &Answer, index: usize, sequence: &Sequence, text: &str) -> Bytes {
        let ended = sequence.is_done();
        let choice = ChunkChoice {
            index,
            text,
            logprobs: None,
            finish_reason: ended.then(|| finish_reason(sequence)),
            stop_reason: None,
            prompt_token_ids: None,
            token_ids: None,
        };
        let last = ended && !answer.ask.include_usage;
        event(&Chunk {
            usage: answer.ask.continuous_usage.then(|| Usage::so_far(sequence)),
            system_fingerprint: last.then(|| fingerprint(&answer.engine)),
            ..chunk(answer, sequence, &[choice])
        })
    }

    fn usage(&self, answer: &Answer, sequences: &[Sequence]) -> Option<Bytes> {
        Some(event(&Chunk {
            usage: Some(Usage::last(answer, sequences, false)),
            system_fingerprint: Some(fingerprint(&answer.engine)),
            ..chunk(answer, &sequences[0], &[])
        }))
    }

    fn shape(&self) -> Shape {
        Shape::Nested
    }

    fn tells_usage_of_failures(&self) -> bool {
        false
    }
}

fn chunk<'a>(
    answer: &'a Answer,
    sequence: &'a Sequence,
    choices: &'a [ChunkChoice<'a>],
) -> Chunk<'a> {
    Chunk {
        id: &sequence.task.rid,
        object: "text_completion",
        created: answer.created,
        model: &answer.ask.model,
        choices,
        usage: None,
        system_fingerprint: None,
    }
}
