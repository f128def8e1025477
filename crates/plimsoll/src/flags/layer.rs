//! What a file or the environment sets, turned into words for the table.
//!
//! A setting becomes the words that would say the same on the command line, so that forms and
//! ranges are checked by one table, and each setting is checked by itself, so that an error can
//! name its line or variable.

use clap::{Arg, ArgAction};

use super::{UsageError, error::Problem, place::Place, syntax::Syntax, table};

/// One flag, set in a file or in the environment.
#[derive(Debug)]
pub(super) struct Setting {
    /// The flag, without dashes.
    pub(super) flag: String,
    /// Where it is set.
    pub(super) place: Place,
    /// What says the same on the command line; nothing if it is set to what is the default there.
    pub(super) words: Vec<String>,
}

/// A value as a file or the environment has it.
#[derive(Debug)]
pub(super) enum Value {
    /// True or false.
    Switch(bool),
    /// One text or number.
    One(String),
    /// A list of texts or numbers.
    List(Vec<String>),
    /// A text that is whatever the flag takes: true or false, one value, or a list by spaces.
    Untyped(String),
}

// === impl Setting ===

impl Setting {
    /// Checks `value` against the table.
    pub(super) fn new(
        command: &mut clap::Command,
        flag: &str,
        value: Value,
        place: Place,
    ) -> Result<Self, UsageError> {
        if let Some(instead) = table::refused(flag) {
            return Err(UsageError::Flag { place, problem: Problem::Refused(instead) });
        }
        let words = match table::find(command, flag) {
            Some(argument) => words(argument, flag, value),
            None => Err(unknown(command, flag)),
        };
        let checked = words.and_then(|words| match command.try_get_matches_from_mut(&words) {
            Ok(_) => Ok(words),
            Err(error) => Err(Syntax::new(&error, &words)),
        });
        match checked {
            Ok(words) => Ok(Self { flag: flag.to_owned(), place, words }),
            Err(source) => Err(UsageError::SyntaxAt { place, source }),
        }
    }
}

/// What says on the command line that `flag` has this value.
fn words(argument: &Arg, flag: &str, value: Value) -> Result<Vec<String>, Syntax> {
    let takes_list = matches!(argument.get_action(), ArgAction::Append);
    let values = match (value, argument.get_action().takes_values()) {
        (Value::Switch(on), false) => return Ok(switch(flag, on)),
        (Value::Untyped(text), false) => return Ok(switch(flag, boolean(&text)?)),
        (_, false) => return Err(Syntax::Kind("true or false")),
        (Value::Switch(_), true) => return Err(Syntax::Kind("a value, not true or false")),
        (Value::List(_), true) if !takes_list => return Err(Syntax::Kind("one value, not a list")),
        (Value::List(values), true) => values,
        (Value::Untyped(text), true) if takes_list => {
            text.split_whitespace().map(str::to_owned).collect()
        }
        (Value::Untyped(text) | Value::One(text), true) => vec![text],
    };
    Ok(values.iter().map(|value| format!("--{flag}={value}")).collect())
}

fn switch(flag: &str, on: bool) -> Vec<String> {
    if on { vec![format!("--{flag}")] } else { Vec::new() }
}

fn boolean(text: &str) -> Result<bool, Syntax> {
    match text.to_ascii_lowercase().as_str() {
        "true" | "1" | "yes" | "on" => Ok(true),
        "false" | "0" | "no" | "off" => Ok(false),
        _ => Err(Syntax::Kind("true or false")),
    }
}

/// The error about a flag that is not in the table, with clap's idea of what was meant.
fn unknown(command: &mut clap::Command, flag: &str) -> Syntax {
    let words = [format!("--{flag}")];
    let error = command.try_get_matches_from_mut(&words).err();
    match error.map(|error| Syntax::new(&error, &words)) {
        Some(unknown @ Syntax::UnknownFlag { .. }) => unknown,
        _ => Syntax::unknown(&words[0]),
    }
}
