use std::{sync::Arc, time::Duration};

use tokio::sync::Semaphore;
use tower_layer::Layer;

use super::{Drain, Limits};

/// Applies [`Drain`] to a metered service. See the [module docs](super).
#[derive(Clone, Debug)]
pub struct DrainLayer(Limits);

// === impl DrainLayer ===

impl DrainLayer {
    /// A layer that reads on for at most `max_time` after a client has left, and for at most
    /// `max_requests` at a time.
    pub fn new(max_time: Duration, max_requests: usize) -> Self {
        let places = Arc::new(Semaphore::new(max_requests.min(Semaphore::MAX_PERMITS)));
        Self(Limits { max_time, places })
    }

    /// A layer that drains nothing.
    pub fn off() -> Self {
        Self::new(Duration::ZERO, 0)
    }
}

impl<Inner> Layer<Inner> for DrainLayer {
    type Service = Drain<Inner>;

    fn layer(&self, inner: Inner) -> Self::Service {
        Drain::new(inner, self.0.clone())
    }
}
