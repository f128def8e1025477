use std::{fmt, sync::Arc};

use http::{Extensions, HeaderMap};
use plimsoll_wire::Endpoint;
use tower_layer::Layer;

use crate::{Meter, Sink};

/// Applies [`Meter`] to a service. See the [crate docs](crate) for an example.
pub struct MeterLayer<S> {
    sink: Arc<S>,
    options: Options,
}

/// What a layer hands to its services.
#[derive(Clone)]
pub(crate) struct Options {
    /// Says which endpoint a path names, or `None` where it is not to be metered.
    pub(crate) classify: fn(&str) -> Option<Endpoint>,
    /// Says who is charged.
    pub(crate) tenant: Option<Arc<TenantOf>>,
}

/// Says who is charged for a request, by its headers and extensions.
pub(crate) type TenantOf = dyn Fn(&HeaderMap, &Extensions) -> Option<Arc<str>> + Send + Sync;

// === impl MeterLayer ===

impl<S: Sink> MeterLayer<S> {
    /// A layer whose finished requests go to `sink`.
    pub fn new(sink: S) -> Self {
        let options = Options { classify: Endpoint::from_path, tenant: None };
        Self { sink: Arc::new(sink), options }
    }

    /// Decides by `classify` what a path is, instead of by [`Endpoint::from_path`]: for services
    /// that answer on paths of their own.
    #[must_use]
    pub fn classify(self, classify: fn(&str) -> Option<Endpoint>) -> Self {
        Self { options: Options { classify, ..self.options }, ..self }
    }

    /// Says by `tenant` who is charged for a request: [`Record::tenant`](crate::Record::tenant).
    ///
    /// It is called once a request, before the service is. What it gives is logged and, if the sink
    /// was told to, put on the metrics page: it must not be a key, nor be made from one.
    /// [`tenant_header`](crate::tenant_header) makes one that reads a header.
    #[must_use]
    pub fn tenant<F>(self, tenant: F) -> Self
    where
        F: Fn(&HeaderMap, &Extensions) -> Option<Arc<str>> + Send + Sync + 'static,
    {
        Self { options: Options { tenant: Some(Arc::new(tenant)), ..self.options }, ..self }
    }
}

impl<S, Inner> Layer<Inner> for MeterLayer<S> {
    type Service = Meter<Inner, S>;

    fn layer(&self, inner: Inner) -> Self::Service {
        Meter::new(inner, self.sink.clone(), self.options.clone())
    }
}

impl<S> Clone for MeterLayer<S> {
    fn clone(&self) -> Self {
        Self { sink: self.sink.clone(), options: self.options.clone() }
    }
}

impl<S> fmt::Debug for MeterLayer<S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MeterLayer").finish_non_exhaustive()
    }
}
