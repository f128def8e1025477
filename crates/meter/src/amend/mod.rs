//! Asks the engine for token counts on a stream whose client did not.
//!
//! Engines send the counts of a stream only if `stream_options.include_usage` says so, and then as
//! one more event with an empty list of choices, which clients that index the first choice trip
//! over. [`AmendLayer`] sets the option, and takes exactly those events out of the answer again.
//! Everything else passes as it came: bodies that are no streams, clients that asked themselves,
//! other endpoints. Of vLLM one thing may be lost: it puts `system_fingerprint` on that event
//! instead of on the last token's.
//!
//! The layer goes below the meter, which gets the counts of the events that were taken out. It reads
//! a request's body only when the service below does, so what that one refuses unread stays unread.

mod body;
mod future;
mod layer;
mod request;
mod service;

use std::sync::{Arc, Mutex, PoisonError};

use plimsoll_wire::reply::LoneUsage;

pub use self::{
    body::AmendedBody, future::AmendFuture, layer::AmendLayer, request::RequestBody, service::Amend,
};

/// The counts of the events that were taken out of one answer, for the meter above.
#[derive(Clone, Debug, Default)]
pub(crate) struct Withheld(Arc<Mutex<LoneUsage>>);

// === impl Withheld ===

impl Withheld {
    pub(crate) fn get(&self) -> LoneUsage {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks at the next event: whether it is one that the client did not ask for.
    fn read(&self, data: &[u8]) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).read(data)
    }
}
