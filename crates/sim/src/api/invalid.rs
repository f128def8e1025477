//! Schema errors as pydantic words them.

use std::fmt::Write as _;

use serde_json::Value;

use super::{Api, problem::Problem};

/// The body is not JSON.
pub(super) fn bad_json(api: Api, body: &[u8], error: &serde_json::Error) -> Problem {
    let (position, cause) = if error.is_eof() {
        (body.len(), "unexpected end of data")
    } else {
        let lines = body.split_inclusive(|&byte| byte == b'\n');
        let before: usize = lines.take(error.line().saturating_sub(1)).map(<[u8]>::len).sum();
        (before + error.column().saturating_sub(1), "unexpected character")
    };
    refuse(
        api,
        &format!(
            "{{'type': 'json_invalid', 'loc': ('body', {position}), 'msg': 'JSON decode error', \
             'input': {{}}, 'ctx': {{'error': '{cause}'}}}}"
        ),
    )
}

/// A field that must be there is not. SGLang adds `tool_choice` to a chat request before it looks.
pub(super) fn missing(api: Api, field: &str, input: &Value) -> Problem {
    let mut input = input.clone();
    if let (Api::Chat, Value::Object(members)) = (api, &mut input) {
        members.entry("tool_choice").or_insert_with(|| "none".into());
    }
    let input = python(&input);
    refuse(
        api,
        &format!(
            "{{'type': 'missing', 'loc': ('body', '{field}'), 'msg': 'Field required', 'input': \
             {input}}}"
        ),
    )
}

/// A field that must be an integer is not.
pub(super) fn not_an_integer(api: Api, field: &str, input: &Value) -> Problem {
    let (kind, reason) = match input {
        Value::String(_) => ("int_parsing", "integer, unable to parse string as an integer"),
        _ => ("int_type", "integer"),
    };
    let input = python(input);
    refuse(
        api,
        &format!(
            "{{'type': '{kind}', 'loc': ('body', '{field}'), 'msg': 'Input should be a valid \
             {reason}', 'input': {input}}}"
        ),
    )
}

fn refuse(api: Api, error: &str) -> Problem {
    let (line, function, path) = match api {
        Api::Chat => (1870, "openai_v1_chat_completions", "/v1/chat/completions"),
        Api::Completions => (1859, "openai_v1_completions", "/v1/completions"),
        Api::Native => (850, "generate_request", "/generate"),
    };
    Problem::schema(format!(
        "1 validation error:\n  {error}\n\n  File \
         \"/opt/engine/sglang/srt/entrypoints/http_server.py\", line {line}, in {function}\n    \
         POST {path} [{error}]"
    ))
}

/// A JSON value as Python's `repr` writes it.
fn python(value: &Value) -> String {
    match value {
        Value::Null => "None".to_owned(),
        Value::Bool(true) => "True".to_owned(),
        Value::Bool(false) => "False".to_owned(),
        Value::Number(number) => number.to_string(),
        Value::String(text) => {
            format!("'{}'", text.replace('\\', "\\\\").replace('\'', "\\'").replace('\n', "\\n"))
        }
        Value::Array(items) => {
            format!("[{}]", items.iter().map(python).collect::<Vec<_>>().join(", "))
        }
        Value::Object(members) => {
            let mut text = String::from("{");
            for (at, (name, value)) in members.iter().enumerate() {
                let comma = if at == 0 { "" } else { ", " };
                // Writing to a `String` cannot fail.
                let _ = write!(text, "{comma}'{name}': {}", python(value));
            }
            text + "}"
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn values_read_as_in_python() {
        let value = json!({"a": [1, true, null], "b": "it's"});
        assert_eq!(python(&value), r"{'a': [1, True, None], 'b': 'it\'s'}");
    }
}
