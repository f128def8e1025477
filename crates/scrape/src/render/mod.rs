//! What a snapshot looks like: a [`Report`], as text for Prometheus, as JSON, and as a table.

mod report;
mod table;
mod text;

#[cfg(test)]
mod tests;

pub use self::{
    report::{Load, PoolReport, Report, RoleReport, WorkerReport},
    table::Table,
    text::{FAMILIES, Family, Kind},
};
