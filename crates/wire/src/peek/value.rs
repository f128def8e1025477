//! Values of loose type, read as the engines' own (pydantic) models read them.

use std::borrow::Cow;

use crate::json::Json;

/// What a string says; `None` for any other value.
pub(super) fn text(raw: &[u8]) -> Option<String> {
    Json::whole(raw, Json::string).map(Cow::into_owned)
}

/// Whether a value is taken for true or false; `None` where the engine would refuse it.
pub(super) fn truth(raw: &[u8]) -> Option<bool> {
    let word = word(raw);
    let is_one_of = |words: [&str; 7]| words.iter().any(|given| word.eq_ignore_ascii_case(given));
    if is_one_of(["true", "1", "1.0", "t", "y", "yes", "on"]) {
        return Some(true);
    }
    is_one_of(["false", "0", "0.0", "f", "n", "no", "off"]).then_some(false)
}

/// A count of choices: at least 1, numbers in strings included; what is no number is 1.
pub(super) fn count(raw: &[u8]) -> u32 {
    let number = word(raw).trim().replace('_', "").parse().unwrap_or(1.0_f64);
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "it saturates")]
    let whole = number.ceil() as u32;
    whole.max(1)
}

/// The length of a list of prompts; `None` for a text or for one list of token numbers.
pub(super) fn prompt_list(raw: &[u8]) -> Option<usize> {
    let first = inside(raw)?;
    (first.starts_with(b"\"") || first.starts_with(b"[")).then(|| length(raw)).flatten()
}

/// The length of a list of embedded prompts, each a list of vectors; `None` for a single one.
pub(super) fn embedded_list(raw: &[u8]) -> Option<usize> {
    inside(inside(raw)?)?.starts_with(b"[").then(|| length(raw)).flatten()
}

/// What follows the bracket of a list.
fn inside(list: &[u8]) -> Option<&[u8]> {
    list.strip_prefix(b"[").map(<[u8]>::trim_ascii_start)
}

fn length(raw: &[u8]) -> Option<usize> {
    let mut length = 0;
    Json::whole(raw, |json| {
        json.list(|json| {
            length += 1;
            json.skip()
        })
    })?;
    Some(length)
}

/// What a string says, escapes undone, and any other value as it is written.
fn word(raw: &[u8]) -> Cow<'_, str> {
    let text = if raw.starts_with(b"\"") { Json::whole(raw, Json::string) } else { None };
    text.unwrap_or_else(|| String::from_utf8_lossy(raw))
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
            assert_eq!(truth(raw.as_bytes()), want, "{raw}");
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
            assert_eq!(count(raw.as_bytes()), want, "{raw}");
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
            assert_eq!(prompt_list(raw.as_bytes()), want, "{raw}");
        }
    }

    #[test]
    fn lists_of_embedded_prompts() {
        for (raw, want) in [("[[0.1],[0.2]]", None), ("[[[0.1]], [[0.2]] ]", Some(2)), ("[]", None)]
        {
            assert_eq!(embedded_list(raw.as_bytes()), want, "{raw}");
        }
    }
}
