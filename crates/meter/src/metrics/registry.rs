//! Handles on a recorder that is passed in.

use std::{fmt, sync::Arc};

use ::metrics::{Counter, Gauge, Histogram, Key, KeyName, Label, Level, Metadata, Recorder, Unit};

use super::families::{Family, Kind};

pub(super) type SharedRecorder = Arc<dyn Recorder + Send + Sync>;

/// Registers handles, their names under one prefix if there is one.
pub(super) struct Registry {
    recorder: SharedRecorder,
    prefix: Option<String>,
}

static METADATA: Metadata<'static> =
    Metadata::new(module_path!(), Level::INFO, Some(module_path!()));

// === impl Registry ===

impl Registry {
    pub(super) fn new(recorder: SharedRecorder, prefix: Option<String>) -> Self {
        Self { recorder, prefix }
    }

    pub(super) fn describe(&self, families: &[Family]) {
        for family in families {
            let name = KeyName::from(self.name(*family));
            let unit = family.name.ends_with("_seconds").then_some(Unit::Seconds);
            match family.kind {
                Kind::Counter => self.recorder.describe_counter(name, unit, family.help.into()),
                Kind::Gauge => self.recorder.describe_gauge(name, unit, family.help.into()),
                Kind::Histogram(_) => {
                    self.recorder.describe_histogram(name, unit, family.help.into());
                }
            }
        }
    }

    /// A counter, on the page from now on.
    pub(super) fn counter(&self, family: Family, labels: Vec<Label>) -> Counter {
        let key = Key::from_parts(self.name(family), labels);
        let counter = self.recorder.register_counter(&key, &METADATA);
        counter.increment(0);
        counter
    }

    /// A gauge, on the page from now on.
    pub(super) fn gauge(&self, family: Family, labels: Vec<Label>) -> Gauge {
        let key = Key::from_parts(self.name(family), labels);
        let gauge = self.recorder.register_gauge(&key, &METADATA);
        gauge.set(0.0);
        gauge
    }

    pub(super) fn histogram(&self, family: Family, labels: Vec<Label>) -> Histogram {
        let key = Key::from_parts(self.name(family), labels);
        self.recorder.register_histogram(&key, &METADATA)
    }

    fn name(&self, family: Family) -> String {
        match &self.prefix {
            Some(prefix) => format!("{prefix}_{}", family.name),
            None => family.name.to_owned(),
        }
    }
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}
