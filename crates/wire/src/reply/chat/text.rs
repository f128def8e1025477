//! The text of an event, found without parsing it.

use std::ops::Range;

use memchr::{memchr, memchr2};

use super::names;

/// The members of a choice whose non-empty string is text that the model wrote.
const TEXT_KEYS: [&[u8]; 6] =
    [b"content", b"text", b"reasoning_content", b"reasoning", b"arguments", b"name"];

/// Where the inside of the first non-empty string below `choices` stands that a member named in
/// [`TEXT_KEYS`] has.
pub(super) fn find(data: &[u8]) -> Option<Range<usize>> {
    let mut rest = names::values(&names::CHOICES, data).next()?;
    loop {
        let (name, after) = next_string(rest)?;
        let Some(value) = after.trim_ascii_start().strip_prefix(b":") else {
            rest = after;
            continue;
        };
        rest = value.trim_ascii_start();
        if rest.first() == Some(&b'"') {
            let start = data.len() - rest.len() + 1;
            let (text, after) = next_string(rest)?;
            if !text.is_empty() && TEXT_KEYS.contains(&name) {
                return Some(start..start + text.len());
            }
            rest = after;
        }
    }
}

/// Whether these bytes are the inside of one JSON string: no quote ends it early, no escape reaches
/// past its end.
pub(super) fn is_inside(text: &[u8]) -> bool {
    let mut rest = text;
    while let Some(at) = memchr2(b'"', b'\\', rest) {
        if rest[at] == b'"' || at + 2 > rest.len() {
            return false;
        }
        rest = &rest[at + 2..];
    }
    true
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
    use super::{find, is_inside};

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
            assert_eq!(find(data.as_bytes()).is_some(), want, "{data}");
        }
    }

    #[test]
    fn the_text_is_the_inside_of_the_string() {
        let data = r#"{"choices":[{"delta":{"content" : "a\"b"},"text":"c"}]}"#;
        assert_eq!(&data[find(data.as_bytes()).unwrap()], r#"a\"b"#);
    }

    #[test]
    fn insides_of_strings() {
        for (text, want) in [
            ("", true),
            ("a", true),
            (r#"\"\\"#, true),
            (r#"a"b"#, false),
            (r#"\\""#, false),
            ("a\\", false),
        ] {
            assert_eq!(is_inside(text.as_bytes()), want, "{text}");
        }
    }
}
