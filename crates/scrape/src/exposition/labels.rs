use std::borrow::Cow;

use memchr::{memchr, memchr2};

/// The labels of one sample, as they stand on its line: well-formed, and read again when asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Labels<'a>(&'a str);

/// One label.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Label<'a> {
    /// Its name.
    pub name: &'a str,
    /// Its value as written, escapes and all.
    pub raw: &'a str,
}

// === impl Labels ===

impl<'a> Labels<'a> {
    /// The labels in front of the closing brace, and what follows it.
    pub(super) fn read(inside: &'a str) -> Option<(Self, &'a str)> {
        let mut rest = inside.trim_ascii_start();
        while !rest.starts_with('}') {
            (_, rest) = Label::read(rest)?;
        }
        // The brace stays: it ends the last label.
        Some((Self(&inside[..=inside.len() - rest.len()]), &rest[1..]))
    }

    /// As [`read`](Self::read), where the quoted name of the metric comes first.
    pub(super) fn after_quoted_name(inside: &'a str) -> Option<(&'a str, Self, &'a str)> {
        let (name, rest) = quoted(inside.trim_ascii_start())?;
        let (labels, rest) = Self::read(next(rest)?)?;
        Some((name, labels, rest))
    }

    /// Each label in order.
    pub fn iter(self) -> impl Iterator<Item = Label<'a>> {
        let mut rest = self.0.trim_ascii_start();
        std::iter::from_fn(move || {
            let (label, after) = Label::read(rest)?;
            rest = after;
            Some(label)
        })
    }

    /// The value of a label.
    pub fn get(self, name: &str) -> Option<Cow<'a, str>> {
        self.iter().find(|label| label.name == name).map(Label::value)
    }
}

// === impl Label ===

impl<'a> Label<'a> {
    /// The value, escapes undone: `\\`, `\"` and `\n`; a backslash before anything else stays.
    pub fn value(self) -> Cow<'a, str> {
        if memchr(b'\\', self.raw.as_bytes()).is_none() {
            return self.raw.into();
        }
        let (mut value, mut rest) = (String::with_capacity(self.raw.len()), self.raw);
        while let Some((before, after)) = rest.split_once('\\') {
            value.push_str(before);
            let mut escaped = after.chars();
            match escaped.next() {
                Some('n') => value.push('\n'),
                Some(same @ ('\\' | '"')) => value.push(same),
                Some(other) => value.extend(['\\', other]),
                None => value.push('\\'),
            }
            rest = escaped.as_str();
        }
        value.push_str(rest);
        value.into()
    }

    /// The label at the start, and what follows it and its comma.
    fn read(text: &'a str) -> Option<(Self, &'a str)> {
        let (name, rest) = if text.starts_with('"') {
            quoted(text)?
        } else {
            let end =
                text.bytes().position(|byte| !(byte.is_ascii_alphanumeric() || byte == b'_'))?;
            text.split_at(end)
        };
        let rest = rest.trim_ascii_start().strip_prefix('=')?.trim_ascii_start();
        let (raw, rest) = quoted(rest)?;
        (!name.is_empty()).then_some((Self { name, raw }, next(rest)?))
    }
}

/// The inside of the quoted string at the start, and what follows its closing quote.
fn quoted(text: &str) -> Option<(&str, &str)> {
    let inside = text.strip_prefix('"')?;
    let mut end = 0;
    loop {
        end += memchr2(b'"', b'\\', inside.as_bytes().get(end..)?)?;
        if inside.as_bytes()[end] == b'"' {
            return Some((&inside[..end], &inside[end + 1..]));
        }
        // The byte behind a backslash may begin a longer character, whose rest is neither of the two.
        end += 2;
    }
}

/// What stands behind one element of a list: its comma is taken, a closing brace is left.
fn next(rest: &str) -> Option<&str> {
    let rest = rest.trim_ascii_start();
    match rest.strip_prefix(',') {
        Some(rest) => Some(rest.trim_ascii_start()),
        None => rest.starts_with('}').then_some(rest),
    }
}
