//! One line: a name, its labels, a value.

use std::fmt::{self, Write};

use super::super::{Report, report::UNKNOWN};
use crate::exposition::escaped;

/// The labels that each role and each worker has in common, escaped once for the whole page.
#[derive(Debug)]
pub(super) struct Labels {
    /// `role="…",model="…"`.
    pub(super) roles: Vec<Prefix>,
    pub(super) workers: Vec<WorkerLabels>,
}

/// The labels of one worker.
#[derive(Debug)]
pub(super) struct WorkerLabels {
    /// `worker="…",role="…"`.
    pub(super) bare: Prefix,
    /// `worker="…",role="…",model="…"`.
    pub(super) model: Prefix,
}

/// The first labels of a line.
#[derive(Debug)]
pub(super) struct Prefix(String);

/// The lines of one worker in a family that has labels of its own.
#[derive(Debug)]
pub(super) struct WorkerLines<'a> {
    out: &'a mut String,
    name: &'static str,
    labels: &'a WorkerLabels,
}

// === impl Labels ===

impl Labels {
    pub(super) fn of(report: &Report) -> Self {
        let model =
            |model: &Option<String>| escaped(model.as_deref().unwrap_or(UNKNOWN)).into_owned();
        let roles = report.roles.iter().map(|role| {
            Prefix(format!("role=\"{}\",model=\"{}\"", escaped(&role.role), model(&role.model)))
        });
        let workers = report.workers.iter().map(|worker| {
            let (url, role) = (escaped(&worker.worker), escaped(&worker.role));
            let bare = format!("worker=\"{url}\",role=\"{role}\"");
            let model = format!("{bare},model=\"{}\"", model(&worker.model));
            WorkerLabels { bare: Prefix(bare), model: Prefix(model) }
        });
        Self { roles: roles.collect(), workers: workers.collect() }
    }
}

// === impl WorkerLabels ===

impl WorkerLabels {
    pub(super) fn lines<'a>(&'a self, out: &'a mut String, name: &'static str) -> WorkerLines<'a> {
        WorkerLines { out, name, labels: self }
    }
}

// === impl Prefix ===

impl Prefix {
    /// Writes a line, unless its value is not known.
    pub(super) fn write(
        &self,
        out: &mut String,
        name: &str,
        more: &[(&str, &str)],
        value: Option<f64>,
    ) -> fmt::Result {
        let Some(value) = value.filter(|value| value.is_finite()) else { return Ok(()) };
        write!(out, "{name}{{{}", self.0)?;
        for (label, value) in more {
            write!(out, ",{label}=\"{}\"", escaped(value))?;
        }
        // The shortest decimal that reads back as the same number, never with an exponent.
        writeln!(out, "}} {value}")
    }
}

// === impl WorkerLines ===

impl WorkerLines<'_> {
    /// A line without the model.
    pub(super) fn bare(&mut self, more: &[(&str, &str)], value: Option<f64>) -> fmt::Result {
        self.labels.bare.write(self.out, self.name, more, value)
    }

    /// A line with the model.
    pub(super) fn model(&mut self, more: &[(&str, &str)], value: Option<f64>) -> fmt::Result {
        self.labels.model.write(self.out, self.name, more, value)
    }
}

/// A label value that may not be known.
pub(super) fn known(value: Option<&str>) -> &str {
    value.unwrap_or(UNKNOWN)
}
