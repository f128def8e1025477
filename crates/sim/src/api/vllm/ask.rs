//! Reading a request, with the checks of vLLM.

use http::HeaderMap;
use serde_json::Value;

use super::{
    invalid,
    transfer::{self, Wish},
};
use crate::{
    api::{Api, Ask, ask::MAX_SAMPLES, problem::Problem, prompts},
    sequence::Task,
    state::Engine,
    text::Token,
};

/// Reads and checks a request.
pub(in crate::api) fn read(
    engine: &Engine,
    api: Api,
    headers: &HeaderMap,
    body: &[u8],
) -> Result<Ask, Problem> {
    let value: Value =
        serde_json::from_slice(body).map_err(|error| invalid::bad_json(body, &error))?;
    let stream = value["stream"].as_bool().unwrap_or(false);
    if !stream && !value["stream_options"].is_null() {
        return Err(invalid::stream_options());
    }
    let (prompts, is_list) = read_prompts(api, &value)?;
    let limit = limit(api, &value)?;
    let samples = integer(&value, "n")?.unwrap_or(1);
    let wish = Wish::read(engine.config.role, &value["kv_transfer_params"])?;
    let served = &engine.config.model;
    let model = value["model"].as_str().unwrap_or(served).to_owned();
    if model != *served {
        return Err(Problem::no_model(&model, served));
    }
    let samples = u32::try_from(samples).ok().filter(|&samples| samples > 0);
    let samples = samples.ok_or_else(|| invalid::value("n", "must be at least 1", &value["n"]))?;
    let samples = samples.min(MAX_SAMPLES);
    let max_new = check_sampling(engine, limit, &value)?;
    let id = id(api, headers);
    let mut tasks = Vec::with_capacity(prompts.len() * samples as usize);
    for (at, prompt) in prompts.into_iter().enumerate() {
        let room = room(engine, &prompt, max_new)?;
        tasks.extend((0..samples).map(|sample| Task {
            rid: id.clone(),
            prompt: prompt.clone(),
            sample,
            max_new: max_new.unwrap_or(engine.config.default_max_tokens.min(room)),
            ends_itself: max_new.is_none() && value["ignore_eos"] != true,
            stream,
            meeting: wish.meeting(
                || transfer::request_id(api, &id, at, sample, samples),
                at,
                sample,
            ),
        }));
    }
    let include_usage = value["stream_options"]["include_usage"] == true;
    Ok(Ask {
        model,
        stream,
        include_usage,
        continuous_usage: include_usage
            && value["stream_options"]["continuous_usage_stats"] == true,
        is_list,
        logprobs: None,
        tasks,
    })
}

/// The request's id, which all its choices share: the client's own, if it sent one.
fn id(api: Api, headers: &HeaderMap) -> String {
    let prefix = if api == Api::Chat { "chatcmpl" } else { "cmpl" };
    let given = headers.get("x-request-id").and_then(|id| id.to_str().ok());
    match given {
        Some(given) => format!("{prefix}-{given}"),
        None => format!("{prefix}-{:016x}", fastrand::u64(..)),
    }
}

fn read_prompts(api: Api, value: &Value) -> Result<(Vec<Vec<Token>>, bool), Problem> {
    if api == Api::Chat {
        let messages = value["messages"].as_array();
        let messages = messages.ok_or_else(|| invalid::missing("messages", value))?;
        return Ok((vec![prompts::of_chat(messages)], false));
    }
    prompts::of_field(&value["prompt"]).ok_or_else(invalid::no_prompt)
}

/// The client's limit on new tokens.
fn limit(api: Api, value: &Value) -> Result<Option<i64>, Problem> {
    let limit = integer(value, "max_tokens")?;
    let newer = integer(value, "max_completion_tokens")?.filter(|_| api == Api::Chat);
    Ok(newer.or(limit))
}

fn integer(value: &Value, field: &str) -> Result<Option<i64>, Problem> {
    match &value[field] {
        Value::Null => Ok(None),
        found => found.as_i64().map(Some).ok_or_else(|| invalid::not_an_integer(field, found)),
    }
}

/// Checks the sampling parameters and gives the limit on new tokens.
fn check_sampling(
    engine: &Engine,
    limit: Option<i64>,
    value: &Value,
) -> Result<Option<u32>, Problem> {
    if let Some(temperature) = value["temperature"].as_f64().filter(|value| *value < 0.0) {
        return Err(invalid::value("temperature", "must be non-negative", &temperature.into()));
    }
    let context = engine.max_prompt();
    let min_tokens = integer(value, "min_tokens")?.unwrap_or_default();
    let Some(limit) = limit else {
        return Ok(None);
    };
    match u32::try_from(limit) {
        Err(_) | Ok(0) if limit < 1 => {
            Err(invalid::value("max_tokens", "must be at least 1", &limit.into()))
        }
        Ok(fits) if u64::from(fits) <= context => {
            if min_tokens > limit {
                return Err(Problem::bad(format!(
                    "min_tokens must be less than or equal to max_tokens={limit}, got {min_tokens}."
                )));
            }
            Ok(Some(fits))
        }
        _ => Err(invalid::beyond_model(limit, context)),
    }
}

/// Tokens that may follow a prompt, which must leave room for those asked for.
fn room(engine: &Engine, prompt: &[Token], max_new: Option<u32>) -> Result<u32, Problem> {
    let (context, tokens) = (engine.max_prompt(), prompt.len() as u64);
    let wanted = u64::from(max_new.unwrap_or(0));
    if tokens + wanted.max(1) > context {
        return Err(invalid::too_long(context, wanted));
    }
    Ok((context - tokens) as u32)
}
