//! Prompts as tokens.

use serde_json::Value;

use crate::text::{Token, tokenize};

/// The prompt a chat becomes. Contents may be strings or lists of text parts.
pub(super) fn of_chat(messages: &[Value]) -> Vec<Token> {
    let mut text = String::new();
    for message in messages {
        text.push_str("<|");
        text.push_str(message["role"].as_str().unwrap_or("user"));
        text.push_str("|>\n");
        match &message["content"] {
            Value::Array(parts) => {
                parts.iter().filter_map(|part| part["text"].as_str()).for_each(|part| {
                    text.push_str(part);
                });
            }
            content => text.push_str(content.as_str().unwrap_or_default()),
        }
        text.push('\n');
    }
    tokenize(&(text + "<|assistant|>\n"))
}

/// The prompts in a field, and whether they came as a list; `None` where there are none.
pub(super) fn of_field(field: &Value) -> Option<(Vec<Vec<Token>>, bool)> {
    match field {
        Value::String(text) => Some((vec![tokenize(text)], false)),
        Value::Array(items) if items.iter().all(Value::is_number) && !items.is_empty() => {
            Some((vec![token_ids(items)], false))
        }
        Value::Array(items) if !items.is_empty() => {
            let prompts = items.iter().map(|item| match item {
                Value::Array(ids) => token_ids(ids),
                other => tokenize(other.as_str().unwrap_or_default()),
            });
            Some((prompts.collect(), true))
        }
        _ => None,
    }
}

fn token_ids(ids: &[Value]) -> Vec<Token> {
    ids.iter().map(|id| id.as_u64().unwrap_or_default() as Token).collect()
}
