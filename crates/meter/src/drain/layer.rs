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
        let max_requests = u32::try_from(max_requests).unwrap_or(u32::MAX);
        let places = Arc::new(Semaphore::new(max_requests as usize));
        Self(Limits { max_time, max_requests, places })
    }

    /// Waits until nothing is drained any more. What begins meanwhile may be cut.
    pub async fn settled(&self) {
        // Never closed: it cannot fail.
        let _ = self.0.places.acquire_many(self.0.max_requests).await;
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
