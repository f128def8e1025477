use std::borrow::Cow;

/// A label value as the text format has it: with backslash, quote and line feed escaped.
pub fn escaped(value: &str) -> Cow<'_, str> {
    with_backslashes(value, &['\\', '"', '\n'])
}

/// A help text as the text format has it: with backslash and line feed escaped.
pub(crate) fn escaped_help(help: &str) -> Cow<'_, str> {
    with_backslashes(help, &['\\', '\n'])
}

fn with_backslashes<'a>(text: &'a str, special: &[char]) -> Cow<'a, str> {
    if !text.contains(special) {
        return Cow::Borrowed(text);
    }
    let mut escaped = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if special.contains(&c) {
            escaped.push('\\');
        }
        escaped.push(if c == '\n' { 'n' } else { c });
    }
    Cow::Owned(escaped)
}
