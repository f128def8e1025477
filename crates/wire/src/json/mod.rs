//! JSON read in one pass over its bytes.
//!
//! Whoever reads says what each member is for and passes over the rest, so nothing is parsed twice
//! and nothing is kept that nobody asked for. What is JSON and what is not is as `serde_json` has
//! it; `None` means that it is not, or that it is not what was to be read. Values that are passed
//! over may nest as deep as they like.

mod open;
mod text;

use std::{borrow::Cow, ops::Range};

use self::open::Open;

/// A place in a JSON text.
#[derive(Debug)]
pub(crate) struct Json<'a> {
    rest: &'a [u8],
    /// All of the text is UTF-8, so no part need be looked at again.
    is_utf8: bool,
}

/// Puts the value of a member that must not stand there twice into its place.
pub(crate) fn once<T>(place: &mut Option<T>, value: T) -> Option<()> {
    place.replace(value).is_none().then_some(())
}

/// Where in a text a value stands that was borrowed from it, as by [`Json::raw`].
pub(crate) fn span_in(text: &[u8], raw: &[u8]) -> Range<usize> {
    let start = raw.as_ptr().addr() - text.as_ptr().addr();
    start..start + raw.len()
}

// === impl Json ===

impl<'a> Json<'a> {
    pub(crate) fn new(text: &'a [u8]) -> Self {
        Self { rest: text, is_utf8: is_utf8(text) }
    }

    /// All of a text, which `read` reads to its end.
    pub(crate) fn whole<T>(text: &'a [u8], read: impl FnOnce(&mut Self) -> Option<T>) -> Option<T> {
        let mut json = Self::new(text);
        let value = read(&mut json)?;
        json.peek().is_none().then_some(value)
    }

    /// All of the text is UTF-8. What is passed over is not looked at for that.
    pub(crate) fn is_utf8(&self) -> bool {
        self.is_utf8
    }

    /// The next byte that is no space; it is not passed over.
    #[inline]
    pub(crate) fn peek(&mut self) -> Option<u8> {
        match self.rest {
            [byte, ..] if *byte > b' ' => Some(*byte),
            _ => self.peek_behind_space(),
        }
    }

    #[inline(never)]
    fn peek_behind_space(&mut self) -> Option<u8> {
        while let [b' ' | b'\n' | b'\t' | b'\r', after @ ..] = self.rest {
            self.rest = after;
        }
        self.rest.first().copied()
    }

    /// Reads an object: `member` is called behind each name, and reads or skips its value.
    #[inline]
    pub(crate) fn object(
        &mut self,
        mut member: impl FnMut(&mut Self, &[u8]) -> Option<()>,
    ) -> Option<()> {
        self.pass(b'{')?;
        if self.ends(b'}')? {
            return Some(());
        }
        loop {
            let (name, is_escaped) = self.string_as_written()?;
            let decoded;
            let name = if is_escaped {
                decoded = decode(name)?;
                decoded.as_bytes()
            } else {
                name
            };
            self.pass(b':')?;
            member(self, name)?;
            if !self.goes_on(b'}')? {
                return Some(());
            }
        }
    }

    /// Reads an object into a value that begins empty: `put` is called behind each name, and reads or
    /// skips what stands there.
    #[inline]
    pub(crate) fn members<T: Default>(
        &mut self,
        mut put: impl FnMut(&mut T, &mut Self, &[u8]) -> Option<()>,
    ) -> Option<T> {
        let mut members = T::default();
        self.object(|json, name| put(&mut members, json, name))?;
        Some(members)
    }

    /// Reads an object of which one member matters: what `read` makes of that, or `Some(None)` where
    /// there is none.
    #[inline]
    pub(crate) fn member<T>(
        &mut self,
        wanted: &[u8],
        mut read: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Option<T>> {
        self.members(|member, json, name| match name == wanted {
            true => once(member, read(json)?),
            false => json.skip(),
        })
    }

    /// Reads a list: `item` is called for each value, and reads or skips it.
    #[inline]
    pub(crate) fn list(&mut self, mut item: impl FnMut(&mut Self) -> Option<()>) -> Option<()> {
        self.pass(b'[')?;
        if self.ends(b']')? {
            return Some(());
        }
        loop {
            item(self)?;
            if !self.goes_on(b']')? {
                return Some(());
            }
        }
    }

    /// Reads a string.
    pub(crate) fn string(&mut self) -> Option<Cow<'a, str>> {
        Some(match self.string_as_written()? {
            (inside, true) => Cow::Owned(decode(inside)?),
            (inside, false) => Cow::Borrowed(std::str::from_utf8(inside).ok()?),
        })
    }

    /// Passes over `null`, if that is what stands here.
    #[inline]
    pub(crate) fn null(&mut self) -> bool {
        self.peek() == Some(b'n') && self.word(b"null").is_some()
    }

    /// A value as it is written.
    #[inline]
    pub(crate) fn raw(&mut self) -> Option<&'a [u8]> {
        self.peek()?;
        let start = self.rest;
        self.skip()?;
        self.utf8_since(start)
    }

    /// Passes over a value and says whether it is another than null.
    pub(crate) fn given(&mut self) -> Option<bool> {
        let is_null = self.peek()? == b'n';
        self.skip()?;
        Some(!is_null)
    }

    /// What `read` makes of a value, or `Some(None)` where it is null or another than that wants:
    /// engines and clients are not held to a schema here, and one wrong type must not lose its
    /// neighbours.
    #[inline]
    pub(crate) fn lenient<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<Option<T>> {
        if self.null() {
            return Some(None);
        }
        let start = self.rest;
        let value = read(self);
        if value.is_none() {
            self.rest = start;
            self.skip()?;
        }
        self.utf8_since(start)?;
        Some(value)
    }

    /// Passes over a value.
    #[inline]
    pub(crate) fn skip(&mut self) -> Option<()> {
        match self.peek()? {
            b'{' | b'[' => self.skip_nested(),
            first => self.skip_leaf(first),
        }
    }

    /// Passes over a value with all that it holds.
    #[inline(never)]
    fn skip_nested(&mut self) -> Option<()> {
        let mut open = Open::default();
        loop {
            if open.last() == Some(b']') {
                self.skip_run();
            }
            match self.peek()? {
                b'{' => {
                    self.pass(b'{')?;
                    if !self.ends(b'}')? {
                        open.push(b'}');
                        self.skip_name()?;
                        continue;
                    }
                }
                b'[' => {
                    self.pass(b'[')?;
                    if !self.ends(b']')? {
                        open.push(b']');
                        continue;
                    }
                }
                first => self.skip_leaf(first)?,
            }
            // A value has ended, and perhaps those around it.
            loop {
                let Some(end) = open.last() else { return Some(()) };
                if self.goes_on(end)? {
                    if end == b'}' {
                        self.skip_name()?;
                    }
                    break;
                }
                open.pop();
            }
        }
    }

    /// Passes over the whole numbers of a list that stand here each with its comma: those of tokens
    /// are many. A value is still to come.
    #[inline]
    fn skip_run(&mut self) {
        let mut rest = self.rest;
        while let [b'1'..=b'9', after @ ..] = rest {
            rest = after;
            while let [b'0'..=b'9', after @ ..] = rest {
                rest = after;
            }
            let [b',', after @ ..] = rest else { return };
            rest = after;
            self.rest = rest;
        }
    }

    /// Passes over a value that holds no others.
    #[inline]
    fn skip_leaf(&mut self, first: u8) -> Option<()> {
        match first {
            b'"' => self.skip_string(),
            b'-' | b'0'..=b'9' => self.skip_number(),
            b't' => self.word(b"true"),
            b'f' => self.word(b"false"),
            b'n' => self.word(b"null"),
            _ => None,
        }
    }

    /// Whether the list or object that has just begun ends at once; if so, that is passed over.
    #[inline]
    fn ends(&mut self, end: u8) -> Option<bool> {
        let ends = self.peek()? == end;
        if ends {
            self.rest = self.rest.get(1..)?;
        }
        Some(ends)
    }

    /// Passes over what stands behind a value: whether that is a comma or the end of what is around.
    #[inline]
    fn goes_on(&mut self, end: u8) -> Option<bool> {
        let byte = self.peek()?;
        self.rest = self.rest.get(1..)?;
        (byte == b',' || byte == end).then_some(byte == b',')
    }

    /// The inside of a string, and whether it has escapes.
    #[inline]
    fn string_as_written(&mut self) -> Option<(&'a [u8], bool)> {
        self.pass(b'"')?;
        let (length, is_escaped) = text::string(self.rest)?;
        let (inside, after) = self.rest.split_at_checked(length)?;
        self.rest = after.get(1..)?;
        (self.is_utf8 || is_utf8(inside)).then_some((inside, is_escaped))
    }

    #[inline]
    fn skip_string(&mut self) -> Option<()> {
        self.pass(b'"')?;
        let (length, _) = text::string(self.rest)?;
        self.rest = self.rest.get(length + 1..)?;
        Some(())
    }

    fn skip_name(&mut self) -> Option<()> {
        self.skip_string()?;
        self.pass(b':')
    }

    /// Passes over a number. (Nobody goes on with another digit behind a leading zero.)
    fn skip_number(&mut self) -> Option<()> {
        let unsigned = self.rest.strip_prefix(b"-").unwrap_or(self.rest);
        let mut rest = match unsigned {
            [b'0', after @ ..] => after,
            _ => behind_digits(unsigned)?,
        };
        if let [b'.', after @ ..] = rest {
            rest = behind_digits(after)?;
        }
        if let [b'e' | b'E', b'+' | b'-', after @ ..] | [b'e' | b'E', after @ ..] = rest {
            rest = behind_digits(after)?;
        }
        self.rest = rest;
        Some(())
    }

    #[inline]
    fn word(&mut self, word: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(word)?;
        Some(())
    }

    /// Passes over this byte, and space before it.
    #[inline]
    fn pass(&mut self, byte: u8) -> Option<()> {
        if self.peek()? != byte {
            return None;
        }
        self.rest = self.rest.get(1..)?;
        Some(())
    }

    /// What was passed over since `start`, if that is UTF-8.
    #[inline]
    fn utf8_since(&self, start: &'a [u8]) -> Option<&'a [u8]> {
        let passed = start.get(..start.len() - self.rest.len())?;
        (self.is_utf8 || is_utf8(passed)).then_some(passed)
    }
}

/// What follows the digits, of which there is at least one.
#[inline]
fn behind_digits(text: &[u8]) -> Option<&[u8]> {
    let mut rest = text;
    while let [b'0'..=b'9', after @ ..] = rest {
        rest = after;
    }
    (rest.len() < text.len()).then_some(rest)
}

fn is_utf8(text: &[u8]) -> bool {
    text.is_ascii() || std::str::from_utf8(text).is_ok()
}

/// What the inside of a string says, escapes undone.
#[cold]
fn decode(inside: &[u8]) -> Option<String> {
    serde_json::from_slice(&[b"\"", inside, b"\""].concat()).ok()
}

#[cfg(test)]
mod tests;
