//! Reading a request: one shape for all APIs, and the checks of SGLang.

use http::HeaderMap;
use plimsoll_wire::{Engine as Kind, Role};
use serde_json::{Map, Value};

use super::{
    Api, invalid,
    problem::Problem,
    prompts,
    rooms::{self, Meeting},
    run::{self, Dialect},
    vllm,
};
use crate::{
    sequence::Task,
    server::{
        body::SimBody,
        reply::{self, Reply},
    },
    state::Engine,
    text::Token,
};

/// Samples of one prompt that are generated at most, whatever `n` says.
pub(super) const MAX_SAMPLES: u32 = 128;

/// What a client asks for.
#[derive(Debug)]
pub(crate) struct Ask {
    /// The model name to echo: the client's own, if it gave one.
    pub(crate) model: String,
    pub(crate) stream: bool,
    /// A usage event at the end of the stream.
    pub(crate) include_usage: bool,
    /// Usage in each event of the stream.
    pub(crate) continuous_usage: bool,
    /// The prompts came as a list: `/generate` answers with one.
    pub(crate) is_list: bool,
    /// `/generate`: tell log probabilities, of prompt tokens from this one on.
    pub(crate) logprobs: Option<usize>,
    pub(crate) tasks: Vec<Task>,
}

/// A request refused before any work.
#[derive(Debug)]
pub(super) struct Refused {
    problem: Problem,
    stream: bool,
}

// === impl Refused ===

impl Refused {
    /// The answer: JSON, or for `/generate` a stream, if the request asks for one.
    pub(super) fn reply(&self, api: Api, dialect: &dyn Dialect) -> Reply {
        if api == Api::Native && self.stream && self.problem.is_streamed() {
            let event = self.problem.event(dialect.shape());
            reply::events(SimBody::events(|outlet| async move {
                outlet.send(event).await;
                outlet.send(run::DONE).await;
            }))
        } else {
            dialect.refuse(&self.problem)
        }
    }
}

// === impl Ask ===

impl Ask {
    /// Reads and checks a request.
    pub(super) fn parse(
        engine: &Engine,
        api: Api,
        headers: &HeaderMap,
        body: &[u8],
    ) -> Result<Self, Refused> {
        if engine.config.engine == Kind::Vllm {
            let read = vllm::read(engine, api, headers, body);
            return read.map_err(|problem| Refused { problem, stream: false });
        }
        let value = serde_json::from_slice::<Value>(body);
        let value = value.map_err(|error| invalid::bad_json(api, body, &error));
        let value = value.map_err(|problem| Refused { problem, stream: false })?;
        let stream = value["stream"].as_bool().unwrap_or(false);
        let parsed = Self::read(engine, api, headers, &value, stream);
        parsed.map_err(|problem| Refused { problem, stream })
    }

    fn read(
        engine: &Engine,
        api: Api,
        headers: &HeaderMap,
        value: &Value,
        stream: bool,
    ) -> Result<Self, Problem> {
        let empty = Map::new();
        let body = value.as_object().unwrap_or(&empty);
        let sampling = if api == Api::Native { &value["sampling_params"] } else { value };
        let (prompts, is_list) = read_prompts(api, value)?;
        let limit = limit(engine, api, sampling)?;
        let samples = integer(api, sampling, "n")?.unwrap_or(1).clamp(1, MAX_SAMPLES.into()) as u32;
        let rooms = rooms::of_request(body, headers, prompts.len(), engine.bootstrap_port())?;
        // Prefill makes the first token and leaves the rest to decode.
        let prefill = engine.config.role == Role::Prefill;
        let ends_itself = limit.is_none() && sampling["ignore_eos"] != true && !prefill;
        let max_new = if prefill { 1 } else { limit.unwrap_or(engine.config.default_max_tokens) };
        let mut tasks = Vec::with_capacity(prompts.len() * samples as usize);
        for (at, prompt) in prompts.into_iter().enumerate() {
            if prompt.len() as u64 >= engine.max_prompt() {
                return Err(Problem::too_long(prompt.len(), engine.max_prompt()));
            }
            let room = rooms.as_ref().map(|rooms| rooms[at].clone());
            let meeting = match room {
                None => Meeting::None,
                Some(room) if samples == 1 => Meeting::In(room),
                Some(room) => Meeting::Shared(room),
            };
            let room_left = (engine.max_prompt() - prompt.len() as u64) as u32;
            tasks.extend((0..samples).map(|sample| Task {
                rid: format!("{:032x}", fastrand::u128(..)),
                prompt: prompt.clone(),
                sample,
                max_new: max_new.min(room_left),
                ends_itself,
                stream,
                meeting: meeting.clone(),
            }));
        }
        let model = value["model"].as_str().unwrap_or(&engine.config.model).to_owned();
        let options = &value["stream_options"];
        Ok(Self {
            model,
            stream,
            include_usage: options["include_usage"] == true,
            continuous_usage: options["continuous_usage_stats"] == true,
            is_list,
            logprobs: (value["return_logprob"] == true).then(|| first_logprob(value)),
            tasks,
        })
    }
}

/// Index of the first prompt token whose log probability is told; by default none is.
fn first_logprob(value: &Value) -> usize {
    value["logprob_start_len"].as_u64().map_or(usize::MAX, |start| start as usize)
}

/// The prompts as tokens, and whether they came as a list.
fn read_prompts(api: Api, value: &Value) -> Result<(Vec<Vec<Token>>, bool), Problem> {
    let field = match api {
        Api::Chat => {
            let messages = value["messages"].as_array();
            let messages = messages.ok_or_else(|| invalid::missing(api, "messages", value))?;
            return Ok((vec![prompts::of_chat(messages)], false));
        }
        Api::Completions if value["prompt"].is_null() => {
            return Err(invalid::missing(api, "prompt", value));
        }
        Api::Completions => &value["prompt"],
        Api::Native if value["text"].is_null() => &value["input_ids"],
        Api::Native => &value["text"],
    };
    prompts::of_field(field).ok_or_else(|| {
        Problem::bad(match api {
            Api::Native => "Either text, input_ids or input_embeds should be provided.",
            Api::Chat | Api::Completions => "Prompt cannot be empty",
        })
    })
}

/// The client's limit on new tokens, with the other sampling parameters checked on the way.
fn limit(engine: &Engine, api: Api, sampling: &Value) -> Result<Option<u32>, Problem> {
    let limit = match api {
        Api::Native => integer(api, sampling, "max_new_tokens")?,
        Api::Chat => match integer(api, sampling, "max_completion_tokens")? {
            None => integer(api, sampling, "max_tokens")?,
            limit => limit,
        },
        Api::Completions => integer(api, sampling, "max_tokens")?,
    };
    let context = i64::from(engine.config.context_len);
    match limit {
        Some(limit) if limit < 0 => {
            return Err(Problem::bad(format!("max_new_tokens must be at least 0, got {limit}.")));
        }
        Some(limit) if limit > context && api != Api::Native => {
            return Err(Problem::bad(format!(
                "max_completion_tokens is too large: {limit}.This model supports at most \
                 {context} completion tokens."
            )));
        }
        _ => {}
    }
    if let Some(temperature) = sampling["temperature"].as_f64().filter(|value| *value < 0.0) {
        return Err(Problem::bad(format!(
            "temperature must be a non-negative finite number, got {temperature:?}."
        )));
    }
    Ok(limit.map(|limit| limit.min(context) as u32))
}

fn integer(api: Api, value: &Value, field: &str) -> Result<Option<i64>, Problem> {
    match &value[field] {
        Value::Null => Ok(None),
        found => {
            let number = found.as_i64().ok_or_else(|| invalid::not_an_integer(api, field, found));
            number.map(Some)
        }
    }
}
