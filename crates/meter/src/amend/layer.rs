use tower_layer::Layer;

use super::Amend;

/// Applies [`Amend`] to a service. See the [module docs](super).
#[derive(Clone, Debug)]
pub struct AmendLayer {
    max_body: u64,
    enabled: bool,
}

// === impl AmendLayer ===

impl AmendLayer {
    /// A layer that reads request bodies of up to `max_body` bytes; a larger one passes unchanged,
    /// for the service below to refuse.
    pub fn new(max_body: u64) -> Self {
        Self { max_body, enabled: true }
    }

    /// Switched off, the layer passes everything.
    #[must_use]
    pub fn enabled(self, enabled: bool) -> Self {
        Self { enabled, ..self }
    }
}

impl<Inner> Layer<Inner> for AmendLayer {
    type Service = Amend<Inner>;

    fn layer(&self, inner: Inner) -> Self::Service {
        Amend::new(inner, self.enabled.then_some(self.max_body))
    }
}
