//! The file of `--config`: TOML whose keys are the flags without dashes.
//!
//! Switches are true or false, repeatable flags are lists, and a prefill worker with a bootstrap
//! port is one text: `prefill = ["http://p:30000 8998", "http://q:30000"]`.

use std::{fs, path::Path};

use toml::{
    Spanned,
    de::{DeTable, DeValue},
};

use super::{
    UsageError,
    layer::{Setting, Value},
    place::Place,
    syntax::Syntax,
};

/// The flags that the file at `path` sets; `named_at` is where the file was named.
pub(super) fn settings(
    command: &mut clap::Command,
    path: &Path,
    named_at: Place,
) -> Result<Vec<Setting>, UsageError> {
    let text = fs::read_to_string(path).map_err(|source| UsageError::ConfigUnreadable {
        place: named_at,
        path: path.to_owned(),
        source,
    })?;
    let table = DeTable::parse(&text).map_err(|error| UsageError::ConfigSyntax {
        path: path.to_owned(),
        line: line(&text, error.span().map_or(0, |span| span.start)),
        message: error.message().split_whitespace().collect::<Vec<_>>().join(" "),
    })?;
    let mut entries: Vec<_> = table.get_ref().iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    let mut settings = Vec::new();
    for (key, entry) in entries {
        let flag = key.get_ref().as_ref();
        let place = Place::File {
            path: path.to_owned(),
            line: line(&text, key.span().start),
            key: flag.to_owned(),
        };
        settings.push(match value(flag, entry) {
            Ok(value) => Setting::new(command, flag, value, place)?,
            Err(source) => return Err(UsageError::SyntaxAt { place, source }),
        });
    }
    Ok(settings)
}

/// The line of the byte at `offset`, from 1.
fn line(text: &str, offset: usize) -> usize {
    text.bytes().take(offset).filter(|byte| *byte == b'\n').count() + 1
}

fn value(flag: &str, entry: &Spanned<DeValue<'_>>) -> Result<Value, Syntax> {
    if flag == "config" {
        return Err(Syntax::Kind("flags of the router; a file cannot name another file"));
    }
    match entry.get_ref() {
        DeValue::Boolean(on) => Ok(Value::Switch(*on)),
        DeValue::Array(items) => items
            .iter()
            .map(|item| scalar(item.get_ref()))
            .collect::<Result<_, _>>()
            .map(Value::List),
        value => scalar(value).map(Value::One),
    }
}

/// A text or a number, as the command line would have it.
fn scalar(value: &DeValue<'_>) -> Result<String, Syntax> {
    let expected = Syntax::Kind("a text, a number, true or false, or a list of texts or numbers");
    match value {
        DeValue::String(text) => Ok(text.to_string()),
        DeValue::Float(number) => Ok(number.as_str().to_owned()),
        DeValue::Integer(number) => i64::from_str_radix(number.as_str(), number.radix())
            .map(|number| number.to_string())
            .map_err(|_| expected),
        DeValue::Boolean(_) | DeValue::Datetime(_) | DeValue::Array(_) | DeValue::Table(_) => {
            Err(expected)
        }
    }
}
