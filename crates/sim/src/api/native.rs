//! `/generate`, SGLang's own API: each event holds all text so far.

use bytes::Bytes;
use plimsoll_wire::Role;
use serde::Serialize;

use super::{
    problem::Shape,
    run::{Answer, Dialect, event},
    usage::WeightVersion,
};
use crate::{
    clock,
    sequence::Sequence,
    text::{EOS, Token},
};

/// Writes native answers.
pub(super) struct Native;

/// Log probability, token and text, the text never told.
type Logprob = (Option<f64>, Token, Option<()>);

/// The log probability of every simulated token.
const LOGPROB: f64 = -1.5;

#[derive(Serialize)]
struct Item<'a> {
    text: &'a str,
    output_ids: &'a [Token],
    meta_info: Meta<'a>,
    /// Only in the stream of a list of prompts.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<usize>,
}

#[derive(Serialize)]
struct Meta<'a> {
    id: &'a str,
    finish_reason: Option<Finish>,
    prompt_tokens: usize,
    weight_version: &'a str,
    num_retractions: u32,
    #[serde(flatten)]
    prefill: Option<PrefillTimes>,
    forward_entry_time: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    prefill_finished_time: Option<f64>,
    queue_time: f64,
    #[serde(flatten)]
    logprobs: Option<Logprobs>,
    reasoning_tokens: u32,
    completion_tokens: usize,
    cached_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    weight_versions: Option<[WeightVersion; 1]>,
    cached_tokens_details: Option<CachedDetails>,
    dp_rank: Option<usize>,
    #[serde(flatten)]
    ended: Option<Ended>,
    #[serde(skip_serializing_if = "Option::is_none")]
    response_sent_to_client_ts: Option<f64>,
}

#[derive(Serialize)]
#[serde(tag = "type", rename_all = "lowercase")]
enum Finish {
    Length { length: usize },
    Stop { matched: Token },
}

/// Missing on decode, which computes no prompt.
#[derive(Serialize)]
struct PrefillTimes {
    storage_prefetch_wait: f64,
    storage_staging_wait: f64,
}

#[derive(Serialize)]
struct Logprobs {
    input_token_logprobs: Vec<Logprob>,
    output_token_logprobs: Vec<Logprob>,
    output_token_logprobs_length: usize,
}

#[derive(Serialize)]
struct CachedDetails {
    device: u64,
    host: u64,
}

#[derive(Serialize)]
struct Ended {
    e2e_latency: f64,
    request_received_ts: f64,
    first_token_latency: f64,
    api_server_dispatch_finish_ts: f64,
    request_finished_ts: f64,
    #[serde(skip_serializing_if = "Option::is_none")]
    decode_throughput: Option<f64>,
}

// === impl Native ===

impl Dialect for Native {
    fn whole(&self, answer: &Answer, sequences: &[Sequence]) -> Vec<u8> {
        let items: Vec<_> = sequences.iter().map(|sequence| item(answer, sequence)).collect();
        let bytes = match items.as_slice() {
            [item] if !answer.ask.is_list => serde_json::to_vec(item),
            items => serde_json::to_vec(items),
        };
        bytes.unwrap_or_default()
    }

    fn piece(&self, answer: &Answer, index: usize, sequence: &Sequence, _: &str) -> Bytes {
        let index = answer.ask.is_list.then_some(index);
        event(&Item { index, ..item(answer, sequence) })
    }

    fn usage(&self, _: &Answer, _: &[Sequence]) -> Option<Bytes> {
        None
    }

    fn shape(&self) -> Shape {
        Shape::Native
    }
}

fn item<'a>(answer: &Answer, sequence: &'a Sequence) -> Item<'a> {
    Item {
        text: &sequence.text,
        output_ids: &sequence.output,
        meta_info: meta(answer, sequence),
        index: None,
    }
}

fn meta<'a>(answer: &Answer, sequence: &'a Sequence) -> Meta<'a> {
    let Sequence { task, output, cached, times, .. } = sequence;
    let role = answer.engine.config.role;
    let (ended, prefills) = (sequence.is_done(), role != Role::Decode);
    let first_or_last = ended || output.len() == 1;
    Meta {
        id: &task.rid,
        finish_reason: ended.then(|| finish(answer, sequence)),
        prompt_tokens: task.prompt.len(),
        weight_version: "default",
        num_retractions: 0,
        prefill: prefills
            .then_some(PrefillTimes { storage_prefetch_wait: 0.0, storage_staging_wait: 0.0 }),
        forward_entry_time: times.forward,
        prefill_finished_time: prefills.then_some(times.prefilled),
        queue_time: times.forward - times.received,
        logprobs: answer.ask.logprobs.map(|start| logprobs(role, start, sequence)),
        reasoning_tokens: 0,
        completion_tokens: output.len(),
        cached_tokens: *cached,
        weight_versions: ended.then(|| WeightVersion::all(sequence)),
        cached_tokens_details: (*cached > 0).then_some(CachedDetails { device: *cached, host: 0 }),
        dp_rank: sequence.dp_rank,
        ended: ended.then(|| end(sequence)),
        response_sent_to_client_ts: first_or_last.then(clock::unix),
    }
}

/// Prefill's own limit is 0 new tokens, which is what it tells.
fn finish(answer: &Answer, sequence: &Sequence) -> Finish {
    match answer.engine.config.role {
        Role::Prefill => Finish::Length { length: 0 },
        _ if sequence.task.ends_itself => Finish::Stop { matched: EOS },
        _ => Finish::Length { length: sequence.output.len() },
    }
}

/// The prompt's are told by whoever computed it, so decode has none.
fn logprobs(role: Role, start: usize, sequence: &Sequence) -> Logprobs {
    let prompt = sequence.task.prompt.iter().enumerate();
    let told = prompt.skip(start).filter(|_| role != Role::Decode);
    let output = sequence.output.iter();
    Logprobs {
        input_token_logprobs: told
            .map(|(at, &token)| ((at > start).then_some(LOGPROB), token, None))
            .collect(),
        output_token_logprobs: output.map(|&token| (Some(LOGPROB), token, None)).collect(),
        output_token_logprobs_length: sequence.output.len(),
    }
}

fn end(sequence: &Sequence) -> Ended {
    let times = &sequence.times;
    let decoded = sequence.output.len().saturating_sub(1);
    let decoding = times.finished - times.first_token;
    Ended {
        e2e_latency: times.finished - times.received,
        request_received_ts: times.received,
        first_token_latency: times.first_token - times.received,
        api_server_dispatch_finish_ts: times.received,
        request_finished_ts: times.finished,
        decode_throughput: (decoded > 0 && decoding > 0.0).then(|| decoded as f64 / decoding),
    }
}
