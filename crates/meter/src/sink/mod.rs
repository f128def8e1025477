mod channel;

use std::{fmt, sync::Arc};

use plimsoll_wire::Endpoint;

pub use self::channel::{ChannelSink, channel};
use crate::Record;

/// Where finished requests go.
///
/// A record comes once a request, after its response body: what it says cannot stop a running
/// request, only decide about the next. It is called on the request's own thread, also from `Drop`:
/// an implementation must not block and must not panic. What takes time goes through a
/// [`channel`]. Pairs of sinks, `Arc`s of one and `Option`s of one are sinks.
pub trait Sink: Send + Sync + 'static {
    /// A request has begun.
    fn begin(&self, _endpoint: Endpoint) {}

    /// Its response body has ended, failed or been dropped: once for each [`begin`](Self::begin).
    fn end(&self, _endpoint: Endpoint) {}

    /// Its record: once for each [`end`](Self::end), right after it or, where a prefill worker's
    /// counts are still to come, up to 2 s later.
    fn record(&self, record: &Record);
}

/// A sink made of a closure by [`sink_fn`].
#[derive(Clone, Copy)]
pub struct FnSink<F>(F);

/// A sink that calls `record` with each record.
pub fn sink_fn<F: Fn(&Record) + Send + Sync + 'static>(record: F) -> FnSink<F> {
    FnSink(record)
}

// === impl Sink ===

impl<F: Fn(&Record) + Send + Sync + 'static> Sink for FnSink<F> {
    fn record(&self, record: &Record) {
        (self.0)(record);
    }
}

impl<T: Sink + ?Sized> Sink for Arc<T> {
    fn begin(&self, endpoint: Endpoint) {
        (**self).begin(endpoint);
    }

    fn end(&self, endpoint: Endpoint) {
        (**self).end(endpoint);
    }

    fn record(&self, record: &Record) {
        (**self).record(record);
    }
}

impl<T: Sink> Sink for Option<T> {
    fn begin(&self, endpoint: Endpoint) {
        if let Some(sink) = self {
            sink.begin(endpoint);
        }
    }

    fn end(&self, endpoint: Endpoint) {
        if let Some(sink) = self {
            sink.end(endpoint);
        }
    }

    fn record(&self, record: &Record) {
        if let Some(sink) = self {
            sink.record(record);
        }
    }
}

impl<A: Sink, B: Sink> Sink for (A, B) {
    fn begin(&self, endpoint: Endpoint) {
        self.0.begin(endpoint);
        self.1.begin(endpoint);
    }

    fn end(&self, endpoint: Endpoint) {
        self.0.end(endpoint);
        self.1.end(endpoint);
    }

    fn record(&self, record: &Record) {
        self.0.record(record);
        self.1.record(record);
    }
}

impl<F> fmt::Debug for FnSink<F> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FnSink").finish_non_exhaustive()
    }
}
