//! Values of loose type, read as the engines' own (pydantic) models read them.

use std::borrow::Cow;

use serde_json::value::RawValue;

/// Whether a value is taken for true or false; `None` where the engine would refuse it.
pub(super) fn truth(raw: &str) -> Option<bool> {
    match word(raw).to_ascii_lowercase().as_str() {
        "true" | "1" | "1.0" | "t" | "y" | "yes" | "on" => Some(true),
        "false" | "0" | "0.0" | "f" | "n" | "no" | "off" => Some(false),
        _ => None,
    }
}

/// A count of choices: at least 1, numbers in strings included; what is no number is 1.
pub(super) fn count(raw: &str) -> u32 {
    let number = word(raw).trim().replace('_', "").parse().unwrap_or(1.0_f64);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
    let whole = number.ceil() as u32;
    whole.max(1)
}

/// The length of a list of prompts; `None` for a text or for one list of token numbers.
pub(super) fn prompt_list(raw: &str) -> Option<usize> {
    let first = raw.strip_prefix('[')?.trim_ascii_start();
    first.starts_with(['"', '[']).then(|| length(raw)).flatten()
}

/// The length of a list of embedded prompts, each a list of vectors; `None` for a single one.
pub(super) fn embedded_list(raw: &str) -> Option<usize> {
    let prompt = raw.strip_prefix('[')?.trim_ascii_start();
    let vector = prompt.strip_prefix('[')?.trim_ascii_start();
    vector.starts_with('[').then(|| length(raw)).flatten()
}

fn length(raw: &str) -> Option<usize> {
    serde_json::from_str::<Vec<&RawValue>>(raw).ok().map(|prompts| prompts.len())
}

/// What a string says, escapes undone, and any other value as it is written.
fn word(raw: &str) -> Cow<'_, str> {
    let text = raw.starts_with('"').then(|| serde_json::from_str::<String>(raw).ok()).flatten();
    text.map_or(Cow::Borrowed(raw), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::{count, embedded_list, prompt_list, truth};

    #[test]
    fn truths() {
        for (raw, want) in [
            ("true", Some(true)),
            ("\"True\"", Some(true)),
            (r#""\u0074rue""#, Some(true)),
            ("1", Some(true)),
            ("false", Some(false)),
            ("0", Some(false)),
            ("null", None),
            ("2", None),
            ("{}", None),
        ] {
            assert_eq!(truth(raw), want, "{raw}");
        }
    }

    #[test]
    fn counts() {
        for (raw, want) in [
            ("1", 1),
            ("2", 2),
            ("2.0", 2),
            ("2e0", 2),
            ("\"2\"", 2),
            ("\" +2 \"", 2),
            (r#""\u0032""#, 2),
            (r#""\t2""#, 2),
            ("\"1_0\"", 10),
            ("0", 1),
            ("-3", 1),
            ("null", 1),
            ("1e99", u32::MAX),
            ("[2]", 1),
        ] {
            assert_eq!(count(raw), want, "{raw}");
        }
    }

    #[test]
    fn lists_of_prompts() {
        for (raw, want) in [
            (r#""text""#, None),
            ("[1, 2]", None),
            ("[]", None),
            (r#"[ "a" , "b"]"#, Some(2)),
            ("[[1,2],[3]]", Some(2)),
            (r#"["a"]"#, Some(1)),
        ] {
            assert_eq!(prompt_list(raw), want, "{raw}");
        }
    }

    #[test]
    fn lists_of_embedded_prompts() {
        for (raw, want) in [("[[0.1],[0.2]]", None), ("[[[0.1]], [[0.2]] ]", Some(2)), ("[]", None)]
        {
            assert_eq!(embedded_list(raw), want, "{raw}");
        }
    }
}
