use tower_layer::Layer;

use super::Peek;

/// Request bodies of up to so many bytes are looked at, unless told otherwise: 4 MiB.
const MAX_BODY: u64 = 4 << 20;

/// Applies [`Peek`] to a service. See the [module docs](super).
#[derive(Clone, Debug)]
pub struct PeekLayer {
    max_body: u64,
}

// === impl PeekLayer ===

impl PeekLayer {
    /// A layer that looks at request bodies of up to 4 MiB; what a larger one says stays unknown.
    pub fn new() -> Self {
        Self { max_body: MAX_BODY }
    }

    /// Looks at request bodies of up to `max_body` bytes.
    #[must_use]
    pub fn max_body(self, max_body: u64) -> Self {
        Self { max_body }
    }
}

impl Default for PeekLayer {
    fn default() -> Self {
        Self::new()
    }
}

impl<Inner> Layer<Inner> for PeekLayer {
    type Service = Peek<Inner>;

    fn layer(&self, inner: Inner) -> Self::Service {
        Peek::new(inner, self.max_body)
    }
}
