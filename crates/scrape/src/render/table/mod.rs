//! The table of `plimsoll kv`.

mod cell;
mod row;

use std::fmt;

use self::{
    cell::{Cell, Tint, width},
    row::{COLUMNS, Row},
};
use super::Report;

/// Between two columns.
const GAP: &str = "  ";

/// What is below a worker: what to do about its state.
const INDENT: &str = "    ";

/// A report as aligned columns: a line for each worker, what to do below it, and at the end a line
/// for each role and model that several workers have. What is not known is `-`.
#[derive(Debug)]
pub struct Table<'a> {
    report: &'a Report,
    is_coloured: bool,
}

// === impl Report ===

impl Report {
    /// The report for a terminal, without colours.
    pub fn table(&self) -> Table<'_> {
        Table { report: self, is_coloured: false }
    }
}

// === impl Table ===

impl Table<'_> {
    /// With the colours of ANSI terminals, or without.
    #[must_use]
    pub fn coloured(self, is_coloured: bool) -> Self {
        Self { is_coloured, ..self }
    }

    fn rows(&self) -> Vec<Row> {
        let workers = self.report.workers.iter().map(Row::of_worker);
        let several = self.report.roles.iter().filter(|role| role.workers > 1);
        workers.chain(several.map(Row::of_role)).collect()
    }

    fn write_cells<'a>(
        &self,
        f: &mut fmt::Formatter<'_>,
        cells: impl Iterator<Item = &'a Cell>,
        widths: &[usize],
    ) -> fmt::Result {
        for (index, ((cell, column), width)) in cells.zip(&COLUMNS).zip(widths).enumerate() {
            if index > 0 {
                f.write_str(GAP)?;
            }
            // The last one is not padded: lines end with what can be seen.
            let width = if index + 1 == COLUMNS.len() { 0 } else { *width };
            cell.write(f, width, column.align, self.is_coloured)?;
        }
        f.write_str("\n")
    }
}

impl fmt::Display for Table<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let rows = self.rows();
        let heads = COLUMNS.map(|column| Cell::new(column.head));
        let mut widths = heads.each_ref().map(|head| width(&head.text));
        for row in &rows {
            for (widest, cell) in widths.iter_mut().zip(&row.cells) {
                *widest = (*widest).max(width(&cell.text));
            }
        }
        self.write_cells(f, heads.iter(), &widths)?;
        for row in &rows {
            self.write_cells(f, row.cells.iter(), &widths)?;
            if !row.hint.is_empty() {
                f.write_str(INDENT)?;
                let hint = Cell::new(&row.hint).tinted(Some(Tint::Yellow));
                hint.write(f, 0, cell::Align::Left, self.is_coloured)?;
                f.write_str("\n")?;
            }
        }
        Ok(())
    }
}
