//! `/v1/chat/completions`.

use bytes::Bytes;
use serde::Serialize;

use super::{MaybeNull, NULL, Null, fingerprint, finish_reason, transfer::Transfer, usage::Usage};
use crate::{
    api::{
        problem::Shape,
        run::{Answer, Dialect, event},
    },
    sequence::Sequence,
};

/// Writes chat answers.
pub(in crate::api) struct Chat;

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
    prompt_logprobs: Null,
    prompt_token_ids: Null,
    prompt_text: Null,
    kv_transfer_params: Option<Transfer<'a>>,
    ec_transfer_params: Null,
    metrics: Null,
}

#[derive(Serialize)]
struct Choice<'a> {
    index: usize,
    message: Message<'a>,
    logprobs: Null,
    finish_reason: &'a str,
    stop_reason: Null,
    token_ids: Null,
    routed_experts: Null,
}

#[derive(Serialize)]
struct Message<'a> {
    role: &'a str,
    content: &'a str,
    refusal: Null,
    annotations: Null,
    audio: Null,
    function_call: Null,
    reasoning: Null,
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
    prompt_token_ids: MaybeNull,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_text: MaybeNull,
    #[serde(skip_serializing_if = "Option::is_none")]
    system_fingerprint: Option<String>,
}

#[derive(Serialize)]
struct ChunkChoice<'a> {
    index: usize,
    delta: Delta<'a>,
    logprobs: Null,
    finish_reason: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stop_reason: MaybeNull,
    #[serde(skip_serializing_if = "Option::is_none")]
    token_ids: MaybeNull,
}

#[derive(Serialize)]
struct Delta<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    role: Option<&'a str>,
    content: &'a str,
}

// === impl Chat ===

impl Dialect for Chat {
    fn whole(&self, answer: &Answer, sequences: &[Sequence]) -> Vec<u8> {
        let choices = sequences.iter().enumerate().map(|(index, sequence)| Choice {
            index,
            message: message(&sequence.text),
            logprobs: None,
            finish_reason: finish_reason(sequence),
            stop_reason: None,
            token_ids: None,
            routed_experts: None,
        });
        let whole = Whole {
            id: &sequences[0].task.rid,
            object: "chat.completion",
            created: answer.created,
            model: &answer.ask.model,
            choices: choices.collect(),
            service_tier: None,
            system_fingerprint: fingerprint(&answer.engine),
            usage: Usage::whole(answer, sequences, true),
            prompt_logprobs: None,
            prompt_token_ids: None,
            prompt_text: None,
            kv_transfer_params: Transfer::of(&answer.engine, sequences),
            ec_transfer_params: None,
            metrics: None,
        };
        serde_json::to_vec(&whole).unwrap_or_default()
    }

    fn opening(&self, answer: &Answer, index: usize, sequence: &Sequence) -> Option<Bytes> {
        let choice = ChunkChoice {
            index,
            delta: Delta { role: Some("assistant"), content: "" },
            logprobs: None,
            finish_reason: None,
            stop_reason: None,
            token_ids: None,
        };
        Some(event(&Chunk {
            usage: answer.ask.continuous_usage.then(|| Usage::so_far(sequence)),
            prompt_token_ids: NULL,
            prompt_text: NULL,
            ..chunk(answer, sequence, &[choice])
        }))
    }

    fn piece(&self, answer: &Answer, index: usize, sequence: &Sequence, text: &str) -> Bytes {
        let ended = sequence.is_done();
        let choice = ChunkChoice {
            index,
            delta: Delta { role: None, content: text },
            logprobs: None,
            finish_reason: ended.then(|| finish_reason(sequence)),
            stop_reason: ended.then_some(None),
            token_ids: NULL,
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
            usage: Some(Usage::last(answer, sequences, true)),
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

fn message(content: &str) -> Message<'_> {
    Message {
        role: "assistant",
        content,
        refusal: None,
        annotations: None,
        audio: None,
        function_call: None,
        reasoning: None,
    }
}

fn chunk<'a>(
    answer: &'a Answer,
    sequence: &'a Sequence,
    choices: &'a [ChunkChoice<'a>],
) -> Chunk<'a> {
    Chunk {
        id: &sequence.task.rid,
        object: "chat.completion.chunk",
        created: answer.created,
        model: &answer.ask.model,
        choices,
        usage: None,
        prompt_token_ids: None,
        prompt_text: None,
        system_fingerprint: None,
    }
}
