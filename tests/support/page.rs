//! The metrics page, taken apart by a reader that forgives nothing.

use std::{collections::BTreeMap, fmt};

/// A page of metrics.
#[derive(Clone, Debug)]
pub(crate) struct Page {
    text: String,
    /// Families and their types, in the order of the page.
    pub(crate) types: Vec<(String, String)>,
    pub(crate) samples: Vec<Sample>,
}

/// One line with a value.
#[derive(Clone, Debug)]
pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) labels: BTreeMap<String, String>,
    pub(crate) value: f64,
}

// === impl Page ===

impl Page {
    /// Reads a page; fails on a line that is none of the text format.
    #[track_caller]
    pub(crate) fn parse(text: &str) -> Self {
        let (mut types, mut samples) = (Vec::new(), Vec::new());
        for line in text.lines().filter(|line| !line.is_empty()) {
            if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').expect("a name and a type");
                types.push((name.to_owned(), kind.to_owned()));
            } else if !line.starts_with("# HELP ") {
                samples.push(Sample::parse(line).unwrap_or_else(|| panic!("not a sample: {line}")));
            }
        }
        Self { text: text.to_owned(), types, samples }
    }

    /// The sum of a name's samples that have these labels.
    pub(crate) fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        let samples = self.samples.iter().filter(|sample| sample.name == name);
        samples.filter(|sample| sample.has(labels)).map(|sample| sample.value).sum()
    }

    /// The same of whole numbers.
    #[track_caller]
    pub(crate) fn count(&self, name: &str, labels: &[(&str, &str)]) -> u64 {
        let sum = self.sum(name, labels);
        assert!(sum >= 0.0 && sum.fract() == 0.0, "{name} is {sum}");
        sum as u64
    }

    /// Finished requests that ended so.
    #[track_caller]
    pub(crate) fn outcomes(&self, outcome: &str) -> u64 {
        self.count("plimsoll_requests_total", &[("outcome", outcome)])
    }
}

impl fmt::Display for Page {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

// === impl Sample ===

impl Sample {
    fn parse(line: &str) -> Option<Self> {
        let (series, value) = line.rsplit_once(' ')?;
        let (name, labels) = match series.split_once('{') {
            None => (series, BTreeMap::new()),
            Some((name, labels)) => (name, read_labels(labels.strip_suffix('}')?)?),
        };
        let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == ':';
        let value = value.parse().ok()?;
        name.chars().all(is_name).then(|| Self { name: name.to_owned(), labels, value })
    }

    /// It has these labels, perhaps among others.
    pub(crate) fn has(&self, labels: &[(&str, &str)]) -> bool {
        labels.iter().all(|(name, value)| self.labels.get(*name).is_some_and(|has| has == value))
    }
}

/// Labels without escapes in their values: none here needs one.
fn read_labels(text: &str) -> Option<BTreeMap<String, String>> {
    let mut labels = BTreeMap::new();
    for label in text.strip_suffix('"')?.split("\",") {
        let (name, value) = label.split_once("=\"")?;
        if value.contains(['"', '\\']) || labels.insert(name.to_owned(), value.to_owned()).is_some()
        {
            return None;
        }
    }
    Some(labels)
}
