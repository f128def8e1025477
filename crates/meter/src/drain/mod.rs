//! Reads on for the true count when a client leaves.
//!
//! Without it, a client that leaves takes its request with it: the service below is dropped, the
//! engine stops, and of the answer only a lower bound is known. For an own engine that is best. Where
//! what is written is billed, [`DrainLayer`] reads the answer to its end on a task of its own, which
//! nobody gets: the outcome stays `client_disconnect`, the counts are the engine's final ones. Time
//! and number of such requests are limited; one over a limit is dropped as if the layer were not
//! there.
//!
//! The layer goes right above the meter:
//!
//! ```
//! use std::time::Duration;
//!
//! use plimsoll_meter::{DrainLayer, MeterLayer, Record, sink_fn};
//! use tower_layer::Layer;
//!
//! # let service = ();
//! let meter = MeterLayer::new(sink_fn(|record: &Record| println!("{:?}", record.usage)));
//! let drained = DrainLayer::new(Duration::from_secs(60), 64).layer(meter.layer(service));
//! ```

mod body;
mod future;
mod layer;
mod service;

use std::{future::Future, sync::Arc, time::Duration};

use tokio::{runtime, sync::Semaphore, time};

pub use self::{body::DrainedBody, future::DrainFuture, layer::DrainLayer, service::Drain};

/// How much may be drained.
#[derive(Clone, Debug)]
pub(crate) struct Limits {
    max_time: Duration,
    max_requests: u32,
    places: Arc<Semaphore>,
}

// === impl Limits ===

impl Limits {
    /// Runs what `begin` gives, if there is a place for it and `begin` finds it worth while.
    fn run<F>(&self, begin: impl FnOnce() -> Option<F>)
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let Ok(runtime) = runtime::Handle::try_current() else { return };
        let Ok(place) = self.places.clone().try_acquire_owned() else { return };
        let Some(reading) = begin() else { return };
        let reading = time::timeout(self.max_time, reading);
        runtime.spawn(async move {
            // Over time it is dropped, and counts as a client that left.
            let _ = reading.await;
            drop(place);
        });
    }
}
