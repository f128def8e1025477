use plimsoll_wire::Engine;
use serde::Serialize;

use crate::Worker;

/// A worker as `GET /workers` shows it.
#[derive(Debug, Serialize)]
pub(super) struct Entry {
    url: String,
    role: &'static str,
    bootstrap_port: Option<u16>,
    up: bool,
    eligible: bool,
    /// Why it is not eligible.
    reason: Option<String>,
    breaker: &'static str,
    in_flight: usize,
    /// What it says it is.
    engine: Option<&'static str>,
    models: Vec<String>,
}

// === impl Entry ===

impl Entry {
    pub(super) fn of(worker: &Worker) -> Self {
        // The state may change from one look to the next: both members follow one.
        let reason = worker.reason();
        Self {
            url: worker.url().to_string(),
            role: worker.role().as_str(),
            bootstrap_port: worker.backend().bootstrap_port,
            up: worker.is_up(),
            eligible: reason.is_none(),
            reason,
            breaker: worker.breaker_state().as_str(),
            in_flight: worker.in_flight(),
            engine: worker.engine().map(Engine::as_str),
            models: worker.models().iter().map(|model| model.id.to_string()).collect(),
        }
    }
}
