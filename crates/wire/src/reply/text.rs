//! Whether an event holds text, found without parsing it.

use memchr::{memchr, memchr2};

use super::names;

/// The members of a choice whose non-empty string is text that the model wrote.
const TEXT_KEYS: [&[u8]; 6] =
    [b"content", b"text", b"reasoning_content", b"reasoning", b"arguments", b"name"];

/// Whether a member named in [`TEXT_KEYS`] below `choices` is a non-empty string.
pub(super) fn has_text(data: &[u8]) -> bool {
    let Some(mut rest) = names::values(&names::CHOICES, data).next() else {
        return false;
    };
    while let Some((string, after)) = next_string(rest) {
        let Some(value) = after.trim_ascii_start().strip_prefix(b":") else {
            rest = after;
            continue;
        };
        let value = value.trim_ascii_start();
        if let [b'"', text @ ..] = value {
            if text.first() != Some(&b'"') && TEXT_KEYS.contains(&string) {
                return true;
            }
            let Some((_, after)) = next_string(value) else {
                return false;
            };
            rest = after;
        } else {
            rest = value;
        }
    }
    false
}

/// The next JSON string's inside, as written, and what follows its closing quote.
fn next_string(data: &[u8]) -> Option<(&[u8], &[u8])> {
    let inside = &data[memchr(b'"', data)? + 1..];
    let mut end = 0;
    loop {
        end += memchr2(b'"', b'\\', &inside[end..])?;
        if inside[end] == b'"' {
            return Some((&inside[..end], &inside[end + 1..]));
        }
        end += 2;
        if end > inside.len() {
            return None;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::has_text;

    #[test]
    fn text_is_told_from_its_absence() {
        for (data, want) in [
            (r#"{"choices":[{"delta":{"reasoning_content":null,"content":"x"}}]}"#, true),
            (r#"{"choices" : [ {"delta" : {"content" : "x"}}]}"#, true),
            (r#"{"choices":[{"delta":{"reasoning_content":"hm","content":null}}]}"#, true),
            (r#"{"choices":[{"delta":{"content":"\""}}]}"#, true),
            (r#"{"choices":[{"index":0,"text":" "}]}"#, true),
            (
                r#"{"choices":[{"delta":{"tool_calls":[{"id":"c","function":{"name":"f","arguments":""}}]}}]}"#,
                true,
            ),
            (
                r#"{"choices":[{"delta":{"tool_calls":[{"function":{"name":null,"arguments":"{\""}}]}}]}"#,
                true,
            ),
            (r#"{"choices":[{"delta":{"role":"assistant","content":""}}]}"#, false),
            (r#"{"choices":[{"delta":{"role":"content"},"finish_reason":"text"}]}"#, false),
            (r#"{"choices":[{"delta":{},"logprobs":{"content":[{"token":"x"}]}}]}"#, false),
            (r#"{"model":"choices","content":"x","choices":[]}"#, false),
            (r#"{"error":{"message":"content"}}"#, false),
            (r#"{"choices":[{"delta":{"content":"#, false),
            (r#"{"choices":[{"delta":{"x":"\"#, false),
            ("", false),
        ] {
            assert_eq!(has_text(data.as_bytes()), want, "{data}");
        }
    }
}
