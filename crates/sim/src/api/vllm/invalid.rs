//! Refusals as vLLM words them.

use serde_json::Value;

use crate::api::problem::Problem;

/// The body is not JSON.
pub(super) fn bad_json(body: &[u8], error: &serde_json::Error) -> Problem {
    let position = if error.is_eof() {
        body.len()
    } else {
        let lines = body.split_inclusive(|&byte| byte == b'\n');
        let before: usize = lines.take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
        before + error.column().saturating_sub(1)
    };
    let what = "'msg': 'JSON decode error', 'input': '<dict of 0 items>', 'ctx': {'error': \
                'Expecting value'}";
    schema("json_invalid", &position.to_string(), what)
}

/// A field that must be there is not.
pub(super) fn missing(field: &str, body: &Value) -> Problem {
    schema("missing", field, &format!("'msg': 'Field required', 'input': {}", python(body)))
}

/// A field that must be an integer is not.
pub(super) fn not_an_integer(field: &str, found: &Value) -> Problem {
    let (kind, reason) = match found {
        Value::String(_) => ("int_parsing", "integer, unable to parse string as an integer"),
        _ => ("int_type", "integer"),
    };
    let found = python(found);
    schema(kind, field, &format!("'msg': 'Input should be a valid {reason}', 'input': {found}"))
}

/// A field that must be an object is not.
pub(super) fn not_an_object(field: &str, found: &Value) -> Problem {
    let found = python(found);
    let what = format!("'msg': 'Input should be a valid dictionary', 'input': {found}");
    schema("dict_type", field, &what)
}

/// A field has a value that it must not have.
pub(super) fn value(field: &str, rule: &str, found: &Value) -> Problem {
    parameter(field, Some(found), &format!("{field} {rule}, got {found}."))
}

/// `stream_options` without a stream.
pub(super) fn stream_options() -> Problem {
    let message = "Stream options can only be defined when `stream=True`.";
    parameter("stream_options", None, message)
}

/// A completion of nothing.
pub(super) fn no_prompt() -> Problem {
    let message = "Either prompt or prompt_embeds must be provided and non-empty.";
    parameter("prompt", None, message)
}

/// More new tokens than the model has room for.
pub(super) fn beyond_model(limit: i64, context: u64) -> Problem {
    let message = format!(
        "max_tokens={limit} cannot be greater than max_model_len={context}. Please request fewer \
         output tokens."
    );
    parameter("max_tokens", Some(&limit.into()), &message)
}

/// A prompt that leaves no room for the tokens asked for. It is counted no further than that.
pub(super) fn too_long(context: u64, wanted: u64) -> Problem {
    let tokens = context - wanted + 1;
    let message = if wanted == 0 {
        format!(
            "This model's maximum context length is {context} tokens. However, your prompt \
             contains at least {tokens} input tokens, which exceeds this limit even without any \
             output tokens. Please reduce the length of the input prompt."
        )
    } else {
        format!(
            "This model's maximum context length is {context} tokens. However, you requested \
             {wanted} output tokens and your prompt contains at least {tokens} input tokens, for a \
             total of at least {} tokens. Please reduce the length of the input prompt or the \
             number of requested output tokens.",
            context + 1
        )
    };
    parameter("input_tokens", Some(&tokens.into()), &message)
}

fn parameter(name: &str, value: Option<&Value>, message: &str) -> Problem {
    let value = value.map(|value| format!(", value={value}")).unwrap_or_default();
    Problem::bad(format!("{message} (parameter={name}{value})")).about(name)
}

/// An error of pydantic's.
fn schema(kind: &str, field: &str, what: &str) -> Problem {
    Problem::schema(format!(
        "1 validation error:\n  {{'type': '{kind}', 'loc': 'body.{field}', {what}}}"
    ))
    .about(format!("body.{field}"))
}

/// A value as an error shows it: collections by their size.
fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'")),
        Value::Array(items) => format!("'<list of {} items>'", items.len()),
        Value::Object(members) => format!("'<dict of {} items>'", members.len()),
    }
}
