//! clap's errors, in one line and without keys.

use clap::error::{ContextKind, ContextValue, ErrorKind};

use super::secret::without_user_info;

/// The flags whose values are never shown.
pub(super) const SECRET: [&str; 2] = ["--api-key", "--worker-api-key"];

/// What does not fit the table.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Syntax {
    /// A flag that is not in the table.
    #[error("there is no flag {name}; {}", hint(nearest.as_deref()))]
    UnknownFlag {
        /// The flag, with its dashes and without its value.
        name: String,
        /// The most similar flag of the table, with its dashes.
        nearest: Option<String>,
    },
    /// A word that no flag takes.
    #[error("{word} belongs to no flag{after}; see plimsoll --help")]
    StrayWord {
        /// The word in quotes, or what stands for it.
        word: String,
        /// The flag before it.
        after: String,
    },
    /// A key that looks like a flag.
    #[error("a key that begins with a dash must follow an equals sign: --api-key=KEY")]
    DashedKey,
    /// A value whose kind is not the flag's.
    #[error("expected {0}")]
    Kind(&'static str),
    /// Whatever else clap found, in its words.
    #[error("{0}")]
    Other(String),
}

// === impl Syntax ===

impl Syntax {
    /// The error about a flag (with its dashes) that resembles none.
    pub(super) fn unknown(flag: &str) -> Self {
        Self::UnknownFlag { name: flag_name(flag).to_owned(), nearest: None }
    }

    /// Puts clap's error about `words` into one line.
    pub(super) fn new(error: &clap::Error, words: &[String]) -> Self {
        let context = |kind| match error.get(kind) {
            Some(ContextValue::String(text)) => Some(text.clone()),
            _ => None,
        };
        match (error.kind(), context(ContextKind::InvalidArg)) {
            (ErrorKind::UnknownArgument, Some(_)) if has_dashed_key(words) => Self::DashedKey,
            (ErrorKind::UnknownArgument, Some(name)) if name.starts_with('-') => {
                Self::UnknownFlag {
                    name: flag_name(&name).to_owned(),
                    nearest: context(ContextKind::SuggestedArg),
                }
            }
            (ErrorKind::UnknownArgument, Some(word)) => stray(&word, words),
            _ => Self::Other(without_user_info(&one_line(&error.to_string()))),
        }
    }
}

fn hint(nearest: Option<&str>) -> String {
    match nearest {
        Some(flag) => format!("the nearest is {flag}"),
        None => "see plimsoll --help".to_owned(),
    }
}

/// Whether a word that begins with a dash may be meant as a key.
fn has_dashed_key(words: &[String]) -> bool {
    words.windows(2).any(|pair| SECRET.contains(&pair[0].as_str()) && pair[1].starts_with('-'))
}

/// A stray word may be the second half of a key with a space in it, so it is shown only where no
/// key is given.
fn stray(word: &str, words: &[String]) -> Syntax {
    let at = words.iter().position(|other| other == word).unwrap_or(words.len());
    let flag = words[..at].iter().rev().find_map(|word| flag_of(word));
    let has_key = words.iter().filter_map(|word| flag_of(word)).any(|flag| SECRET.contains(&flag));
    Syntax::StrayWord {
        word: if has_key { "a word".to_owned() } else { format!("{:?}", without_user_info(word)) },
        after: flag.map(|flag| format!(" after {flag}")).unwrap_or_default(),
    }
}

/// The flag that a word is, with its dashes and without its value.
fn flag_of(word: &str) -> Option<&str> {
    word.starts_with("--").then(|| flag_name(word))
}

/// A word up to where a value begins.
fn flag_name(word: &str) -> &str {
    let end = word.find(|c: char| c == '=' || c.is_whitespace());
    &word[..end.unwrap_or(word.len())]
}

/// The lines of a rendered error that say what is wrong, as one.
fn one_line(rendered: &str) -> String {
    rendered
        .lines()
        .map(str::trim)
        .take_while(|line| !line.starts_with("Usage:") && !line.starts_with("For more information"))
        .flat_map(|line| line.strip_prefix("error:").unwrap_or(line).split_whitespace())
        .collect::<Vec<_>>()
        .join(" ")
}
