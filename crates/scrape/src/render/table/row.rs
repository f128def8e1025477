//! The columns, and what each line has in them.

use super::{
    super::{Load, RoleReport, WorkerReport},
    cell::{
        Align::{self, Left, Right},
        Cell, Tint,
    },
};

/// A column's head, and the side that its cells are at.
#[derive(Clone, Copy, Debug)]
pub(super) struct Column {
    pub(super) head: &'static str,
    pub(super) align: Align,
}

/// The columns.
pub(super) const COLUMNS: [Column; 11] = [
    Column { head: "WORKER", align: Left },
    Column { head: "ROLE", align: Left },
    Column { head: "MODEL", align: Left },
    Column { head: "USED", align: Right },
    Column { head: "CAPACITY", align: Right },
    Column { head: "FULL", align: Right },
    Column { head: "", align: Left },
    Column { head: "EVICTABLE", align: Right },
    Column { head: "RUNNING", align: Right },
    Column { head: "QUEUED", align: Right },
    Column { head: "STATE", align: Left },
];

/// One line, and what is to be done below it.
#[derive(Debug)]
pub(super) struct Row {
    pub(super) cells: [Cell; COLUMNS.len()],
    pub(super) hint: String,
}

// === impl Row ===

impl Row {
    pub(super) fn of_worker(worker: &WorkerReport) -> Self {
        let WorkerReport { role, model, load, state, hint, .. } = worker;
        let tint = (state != "ok").then_some(Tint::Yellow);
        let state = Cell::new(state).tinted(tint);
        let first = Cell::new(&worker.worker);
        Self { cells: cells(first, role, model.as_deref(), load, state), hint: hint.to_string() }
    }

    pub(super) fn of_role(total: &RoleReport) -> Self {
        let RoleReport { role, model, workers, load } = total;
        let Load { ranks_reporting, ranks_expected, .. } = load;
        let tint = (ranks_reporting < ranks_expected).then_some(Tint::Yellow);
        let state = Cell::new(&format!("{ranks_reporting} of {ranks_expected} ranks"));
        let first = Cell::new(&format!("total of {workers}"));
        let cells = cells(first, role, model.as_deref(), load, state.tinted(tint));
        Self { cells, hint: String::new() }
    }
}

fn cells(
    first: Cell,
    role: &str,
    model: Option<&str>,
    load: &Load,
    state: Cell,
) -> [Cell; COLUMNS.len()] {
    [
        first,
        Cell::new(role),
        Cell::known(model),
        Cell::count(load.used_tokens),
        Cell::count(load.capacity_tokens),
        Cell::percent(load.usage_ratio, load.unweighted),
        Cell::bar(load.usage_ratio),
        Cell::count(load.evictable_tokens),
        Cell::count(load.running_requests),
        Cell::count(load.queued_requests),
        state,
    ]
}
