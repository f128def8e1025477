//! What a worker says it serves.

use std::sync::Arc;

use plimsoll_wire::Engine;
use serde::Deserialize;
use serde_json::value::RawValue;

/// Of a flood of models only the first are believed: they are compared with those of other workers.
const MAX_MODELS: usize = 1024;

/// No model has a longer name, in bytes: each becomes a label.
const MAX_NAME: usize = 256;

/// One entry of a worker's `GET /v1/models`.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    pub(crate) id: Arc<str>,
    /// The engine that owns it, by its own word.
    pub(crate) engine: Option<Engine>,
    /// The entry as the worker wrote it: clients look into more of it than its id.
    pub(crate) entry: Box<RawValue>,
}

#[derive(Deserialize)]
struct Listing {
    data: Vec<Box<RawValue>>,
}

#[derive(Deserialize)]
struct Entry {
    id: String,
    owned_by: Option<String>,
}

// === impl Model ===

impl Model {
    /// The entries of a listing that have an id, as far as there may be as many and as long ones.
    pub(crate) fn list(body: &[u8]) -> Result<Vec<Self>, serde_json::Error> {
        let listing: Listing = serde_json::from_slice(body)?;
        let models = listing.data.into_iter().filter_map(|entry| {
            let Entry { id, owned_by } = serde_json::from_str(entry.get()).ok()?;
            if id.len() > MAX_NAME {
                return None;
            }
            let engine = owned_by.and_then(|owner| owner.parse().ok());
            Some(Self { id: id.into(), engine, entry })
        });
        Ok(models.take(MAX_MODELS).collect())
    }
}
