//! The figures that were committed last.

use std::{collections::BTreeMap, fs, path::PathBuf};

/// How much more a case may take than it did: a tenth.
const MOST: f64 = 1.1;

/// What each case takes, in instructions.
#[derive(Debug, Default)]
pub(crate) struct Baseline(BTreeMap<String, f64>);

// === impl Baseline ===

impl Baseline {
    /// The committed one.
    pub(crate) fn read() -> Result<Self, String> {
        let path = path();
        let text = fs::read_to_string(&path).map_err(|error| format!("{path:?}: {error}"))?;
        let line = |line: &str| {
            let (name, count) = line.split_once(' ')?;
            Some((name.to_owned(), count.parse().ok()?))
        };
        let lines = text.lines().map(|text| line(text).ok_or(text));
        let read: Result<_, &str> = lines.collect();
        read.map(Self).map_err(|line| format!("{path:?}: `{line}` is not `case instructions`"))
    }

    pub(crate) fn note(&mut self, case: &str, count: f64) {
        self.0.insert(case.to_owned(), count);
    }

    pub(crate) fn get(&self, case: &str) -> Option<f64> {
        self.0.get(case).copied()
    }

    /// Puts it in the place of the committed one.
    pub(crate) fn write(&self) -> Result<(), String> {
        let lines = self.0.iter().map(|(name, count)| format!("{name} {count:.0}\n"));
        fs::write(path(), lines.collect::<String>()).map_err(|error| error.to_string())
    }

    /// What takes more in `now` than it may, in words; empty if nothing does.
    pub(crate) fn grown(&self, now: &Self) -> String {
        let grown = now.0.iter().filter_map(|(name, now)| match self.get(name) {
            None => Some(format!("{name} is not in the baseline; add it with `-- --save`\n")),
            Some(before) if *now > before * MOST => Some(format!(
                "{name} takes {now:.0} instructions, {before:.0} in the baseline: {:+.0} %\n",
                (now / before - 1.0) * 100.0
            )),
            Some(_) => None,
        });
        grown.collect()
    }
}

fn path() -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("instructions/baseline.txt")
}
