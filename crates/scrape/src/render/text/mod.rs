//! The Prometheus text format 0.0.4.

mod families;
mod series;

use std::fmt;

use tokio::time::Instant;

pub use self::families::{FAMILIES, Family, Kind};
use self::{families::Lines, series::Labels};
use super::Report;
use crate::{Snapshot, exposition::escaped_help};

// === impl Snapshot ===

impl Snapshot {
    /// Writes what is known at `now` in the text format: whole families, sorted by name, with a blank
    /// line after each.
    ///
    /// # Errors
    ///
    /// When `out` has one.
    pub fn write_text(&self, out: &mut impl fmt::Write, now: Instant) -> fmt::Result {
        self.report(now).write_text(out)
    }
}

// === impl Report ===

impl Report {
    /// Writes the report in the text format: whole families, sorted by name, with a blank line after
    /// each. A value that is not known has no line, and a family without lines is left out.
    ///
    /// # Errors
    ///
    /// When `out` has one.
    pub fn write_text(&self, out: &mut impl fmt::Write) -> fmt::Result {
        let labels = Labels::of(self);
        let mut lines = String::new();
        for family in &FAMILIES {
            lines.clear();
            family.write_lines(&mut lines, self, &labels)?;
            if !lines.is_empty() {
                let Family { name, kind, help, .. } = family;
                let (help, kind) = (escaped_help(help), kind.as_str());
                write!(out, "# HELP {name} {help}\n# TYPE {name} {kind}\n{lines}\n")?;
            }
        }
        Ok(())
    }
}

// === impl Family ===

impl Family {
    fn write_lines(&self, out: &mut String, report: &Report, labels: &Labels) -> fmt::Result {
        let roles = || report.roles.iter().zip(&labels.roles);
        let workers = || report.workers.iter().zip(&labels.workers);
        let name = self.name;
        match self.lines {
            Lines::Role(value) => roles()
                .try_for_each(|(role, labels)| labels.write(out, name, &[], value(&role.load))),
            Lines::Model(value) => workers()
                .try_for_each(|(worker, labels)| labels.model.write(out, name, &[], value(worker))),
            Lines::Worker(value) => workers()
                .try_for_each(|(worker, labels)| labels.bare.write(out, name, &[], value(worker))),
            Lines::Own(_, write) => workers()
                .try_for_each(|(worker, labels)| write(&mut labels.lines(out, name), worker)),
        }
    }
}
