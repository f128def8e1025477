//! The exposition format as Python's prometheus_client writes it.

use std::fmt::Write as _;

/// A metrics page being written.
#[derive(Debug)]
pub(super) struct Page {
    prefix: &'static str,
    text: String,
}

/// Label names and values, in the order they are written.
pub(super) type Labels<'a> = [(&'a str, &'a str)];

// === impl Page ===

impl Page {
    /// An empty page whose names begin with `prefix`.
    pub(super) fn new(prefix: &'static str) -> Self {
        Self { prefix, text: String::new() }
    }

    /// Begins a family; `name` is without the prefix.
    pub(super) fn family(&mut self, name: &str, kind: &str, help: &str) {
        let prefix = self.prefix;
        // Writing to a `String` cannot fail, here and below.
        let _ = write!(self.text, "# HELP {prefix}{name} {help}\n# TYPE {prefix}{name} {kind}\n");
    }

    /// Writes one sample.
    pub(super) fn sample(&mut self, name: &str, labels: &Labels<'_>, value: f64) {
        let _ = write!(self.text, "{}{name}", self.prefix);
        let (open, close) = if labels.is_empty() { ("", "") } else { ("{", "}") };
        self.text.push_str(open);
        for (at, (label, text)) in labels.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let text = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.text, "{comma}{label}=\"{text}\"");
        }
        let _ = writeln!(self.text, "{close} {}", number(value));
    }

    pub(super) fn into_text(self) -> String {
        self.text
    }
}

/// A float as `floatToGoString` writes it: `4096.0`, `1.482752e+06`, `NaN`, `+Inf`.
pub(super) fn number(value: f64) -> String {
    if value.is_nan() {
        return "NaN".to_owned();
    }
    if value.is_infinite() {
        return if value > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let plain = format!("{value:?}");
    match plain.find('.') {
        Some(dot) if value > 0.0 && dot > 6 && !plain.contains('e') => {
            let digits = format!("{}.{}{}", &plain[..1], &plain[1..dot], &plain[dot + 1..]);
            let digits = digits.trim_end_matches('0').trim_end_matches('.');
            format!("{digits}e+{:02}", dot - 1)
        }
        _ => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_read_as_in_python() {
        for (value, text) in [
            (0.0, "0.0"),
            (4096.0, "4096.0"),
            (999_999.0, "999999.0"),
            (1e6, "1e+06"),
            (1.1e6, "1.1e+06"),
            (1_482_752.0, "1.482752e+06"),
            (12_345_678.5, "1.23456785e+07"),
            (0.037_841_796_875, "0.037841796875"),
            (-1.0, "-1.0"),
            (f64::NAN, "NaN"),
            (f64::INFINITY, "+Inf"),
        ] {
            assert_eq!(number(value), text);
        }
    }
}
