//! The text form of a family of metrics.

use std::fmt::{Display, Write};

/// What stands above the samples: name, type and help.
pub(super) type Head<'a> = (&'a str, &'a str, &'a str);

/// Writes a family, unless it has no sample. A sample's labels stand as in the text, `a="1",b="2"`; it
/// may have none.
pub(super) fn write<L: AsRef<str>, V: Display>(
    page: &mut String,
    head: Head<'_>,
    samples: impl IntoIterator<Item = (L, V)>,
) {
    let mut samples = samples.into_iter().peekable();
    if samples.peek().is_none() {
        return;
    }
    begin(page, head);
    for (labels, value) in samples {
        sample(page, head.0, labels.as_ref(), value);
    }
    page.push('\n');
}

/// Writes a histogram without labels, of the counts within each of these bounds, and above the last.
pub(super) fn write_histogram(
    page: &mut String,
    (name, help): (&str, &str),
    bounds: &[f64],
    counts: impl IntoIterator<Item = u64>,
    sum: f64,
) {
    begin(page, (name, "histogram", help));
    let bounds = bounds.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
    let mut total = 0;
    for (bound, count) in bounds.zip(counts) {
        total += count;
        sample(page, &format!("{name}_bucket"), &format!("le=\"{bound}\""), total);
    }
    sample(page, &format!("{name}_sum"), "", sum);
    sample(page, &format!("{name}_count"), "", total);
    page.push('\n');
}

// Writing to a string cannot fail.

fn begin(page: &mut String, (name, kind, help): Head<'_>) {
    let _ = writeln!(page, "# HELP {name} {help}\n# TYPE {name} {kind}");
}

fn sample(page: &mut String, name: &str, labels: &str, value: impl Display) {
    let _ = match labels {
        "" => writeln!(page, "{name} {value}"),
        labels => writeln!(page, "{name}{{{labels}}} {value}"),
    };
}
