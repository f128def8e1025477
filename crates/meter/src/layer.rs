use std::{fmt, sync::Arc};

use plimsoll_wire::Endpoint;
use tower_layer::Layer;

use crate::{Meter, Sink};

/// Says which endpoint a request path names, or `None` where it is not to be metered.
pub(crate) type Classify = fn(&str) -> Option<Endpoint>;

/// Applies [`Meter`] to a service. See the [crate docs](crate) for an example.
pub struct MeterLayer<S> {
    sink: Arc<S>,
    classify: Classify,
}

// === impl MeterLayer ===

impl<S: Sink> MeterLayer<S> {
    /// A layer whose finished requests go to `sink`.
    pub fn new(sink: S) -> Self {
        Self { sink: Arc::new(sink), classify: Endpoint::from_path }
    }

    /// Decides by `classify` what a path is, instead of by [`Endpoint::from_path`]: for services
    /// that answer on paths of their own.
    #[must_use]
    pub fn classify(self, classify: fn(&str) -> Option<Endpoint>) -> Self {
        Self { classify, ..self }
    }
}

impl<S, Inner> Layer<Inner> for MeterLayer<S> {
    type Service = Meter<Inner, S>;

    fn layer(&self, inner: Inner) -> Self::Service {
        Meter::new(inner, self.sink.clone(), self.classify)
    }
}

impl<S> Clone for MeterLayer<S> {
    fn clone(&self) -> Self {
        Self { sink: self.sink.clone(), classify: self.classify }
    }
}

impl<S> fmt::Debug for MeterLayer<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MeterLayer").finish_non_exhaustive()
    }
}
