//! A valid page, whatever stands in it, is read back to the sample. The bytes are drawn from to make
//! one.

use plimsoll_scrape::exposition::lines;

/// Of what names are made.
const NAME: &[u8] = b"abcxyz_:ABZ019";

/// Lines that hold no sample.
const REST: [&str; 5] = ["", "# HELP a \"b\" {c} 1", "# TYPE a counter", "#a{b=\"c\"} 1", "   "];

/// One sample to be written.
#[derive(Debug)]
struct Sample {
    name: String,
    labels: Vec<(String, String)>,
    value: f64,
}

/// Takes bytes from the front.
struct Draw<'a>(&'a [u8]);

/// # Panics
///
/// If it does not hold.
pub fn check(bytes: &[u8]) {
    let mut draw = Draw(bytes);
    let (mut page, mut samples) = (String::new(), Vec::new());
    while !draw.0.is_empty() {
        page.push_str(REST[draw.byte() as usize % REST.len()]);
        page.push('\n');
        let sample = Sample::draw(&mut draw);
        sample.write(&mut page, draw.byte());
        samples.push(sample);
    }
    let mut read = lines(&page);
    for wanted in &samples {
        let found = read.next().expect("a sample").unwrap_or_else(|_| panic!("{wanted:?} {page}"));
        assert_eq!(found.name, wanted.name, "{page}");
        let labels: Vec<_> = found
            .labels
            .iter()
            .map(|label| (label.name.to_owned(), label.value().into_owned()))
            .collect();
        assert_eq!(labels, wanted.labels, "{page}");
        let same = found.value == wanted.value || found.value.is_nan() && wanted.value.is_nan();
        assert!(same, "{} {wanted:?}", found.value);
    }
    assert!(read.next().is_none(), "{page}");
}

// === impl Draw ===

impl Draw<'_> {
    fn byte(&mut self) -> u8 {
        let Some((&first, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        first
    }

    fn take(&mut self, most: usize) -> &[u8] {
        let length = (self.byte() as usize % (most + 1)).min(self.0.len());
        let (taken, rest) = self.0.split_at(length);
        self.0 = rest;
        taken
    }

    /// A name; colons are for metrics only.
    fn name(&mut self, colons: bool) -> String {
        let letter = |byte: &u8| char::from(NAME[*byte as usize % NAME.len()]);
        let is_allowed = |letter: &char| colons || *letter != ':';
        let letters = self.take(12).iter().map(letter).filter(is_allowed);
        std::iter::once('n').chain(letters).collect()
    }
}

// === impl Sample ===

impl Sample {
    fn draw(draw: &mut Draw<'_>) -> Self {
        let name = draw.name(true);
        let mut labels = Vec::<(String, String)>::new();
        for _ in 0..draw.byte() % 4 {
            let name = draw.name(false);
            let value = String::from_utf8_lossy(draw.take(24)).replace('\r', "");
            if labels.iter().all(|(other, _)| *other != name) {
                labels.push((name, value));
            }
        }
        let value = match draw.byte() % 8 {
            0 => f64::NAN,
            1 => f64::INFINITY,
            2 => f64::NEG_INFINITY,
            3 => f64::from(draw.byte()),
            _ => f64::from_le_bytes(std::array::from_fn(|_| draw.byte())),
        };
        Self { name, labels, value }
    }

    /// Writes the line in one of the ways that are allowed.
    fn write(&self, page: &mut String, way: u8) {
        let blank = if way & 1 == 0 { "" } else { " \t" };
        page.push_str(&self.name);
        if !self.labels.is_empty() || way & 2 == 0 {
            page.push_str(blank);
            page.push('{');
            for (index, (name, value)) in self.labels.iter().enumerate() {
                let escaped = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
                let comma = if index > 0 { "," } else { "" };
                page.push_str(&format!("{comma}{blank}{name}{blank}={blank}\"{escaped}\"{blank}"));
            }
            page.push_str(if way & 4 == 0 || self.labels.is_empty() { "}" } else { ",}" });
        }
        let value = match self.value {
            value if value == f64::INFINITY => "+Inf".to_owned(),
            value if value == f64::NEG_INFINITY => "-Inf".to_owned(),
            value if way & 8 == 0 => format!("{value:?}"),
            value => format!("{value:e}"),
        };
        let time = if way & 16 == 0 { "" } else { " 1764748800000" };
        page.push_str(&format!(" {value}{time}\n"));
    }
}
