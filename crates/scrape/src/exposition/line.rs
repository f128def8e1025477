use super::Labels;

/// One sample.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample<'a> {
    /// The metric's name, colons and all.
    pub name: &'a str,
    /// Its labels.
    pub labels: Labels<'a>,
    /// Its value; may be `NaN` or infinite. (Integers are written as floats, and from a million on
    /// with an exponent: never read them otherwise.)
    pub value: f64,
}

/// A line that is no sample.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the line is no sample of the text format")]
pub struct Malformed;

// === impl Sample ===

impl<'a> Sample<'a> {
    /// Reads a line without blanks around it; `None` if its name is not wanted.
    pub(super) fn read(
        line: &'a str,
        wanted: &impl Fn(&str) -> bool,
    ) -> Result<Option<Self>, Malformed> {
        let (name, labels, rest) = if let Some(inside) = line.strip_prefix('{') {
            let (name, labels, rest) = Labels::after_quoted_name(inside).ok_or(Malformed)?;
            if !wanted(name) {
                return Ok(None);
            }
            (name, labels, rest)
        } else {
            let end = line.bytes().position(|byte| !is_name_byte(byte)).ok_or(Malformed)?;
            let (name, rest) = line.split_at(end);
            if name.is_empty() || name.as_bytes()[0].is_ascii_digit() {
                return Err(Malformed);
            }
            if !wanted(name) {
                return Ok(None);
            }
            match rest.trim_ascii_start().strip_prefix('{') {
                Some(inside) => {
                    let (labels, rest) = Labels::read(inside).ok_or(Malformed)?;
                    (name, labels, rest)
                }
                None if rest.starts_with([' ', '\t']) => (name, Labels::default(), rest),
                None => return Err(Malformed),
            }
        };
        let value = value(rest.trim_ascii_start()).ok_or(Malformed)?;
        Ok(Some(Self { name, labels, value }))
    }
}

fn is_name_byte(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b':'
}

/// A value, and behind it perhaps a timestamp, and perhaps an exemplar.
fn value(text: &str) -> Option<f64> {
    let text = match memchr::memchr(b'#', text.as_bytes()) {
        Some(at) if text[..at].ends_with([' ', '\t']) => &text[..at],
        Some(_) => return None,
        None => text,
    };
    let mut words = text.split_ascii_whitespace();
    let value = words.next()?.parse().ok()?;
    let timestamp = words.next().is_none_or(|word| word.parse::<f64>().is_ok());
    (timestamp && words.next().is_none()).then_some(value)
}
