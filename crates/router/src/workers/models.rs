//! What a worker says it serves.

use std::sync::Arc;

use plimsoll_wire::Engine;
use serde::Deserialize;
use serde_json::value::RawValue;

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
    /// The entries of a listing that have an id.
    pub(crate) fn list(body: &[u8]) -> Result<Vec<Self>, serde_json::Error> {
        let listing: Listing = serde_json::from_slice(body)?;
        let models = listing.data.into_iter().filter_map(|entry| {
            let Entry { id, owned_by } = serde_json::from_str(entry.get()).ok()?;
            let engine = owned_by.and_then(|owner| owner.parse().ok());
            Some(Self { id: id.into(), engine, entry })
        });
        Ok(models.collect())
    }
}
