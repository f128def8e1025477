//! A tower layer that accounts for every request of an OpenAI-format service.
//!
//! [`MeterLayer`] goes over any `tower::Service<Request<B>>` whose response body yields [`Bytes`].
//! It looks at what passes and changes no byte. A request is finished when its response body ends,
//! fails or is dropped; at that moment, and exactly once, it becomes one [`Record`] that a [`Sink`]
//! gets: tokens, times, how it ended. [`MetricsSink`] turns records into metrics on a recorder that
//! you pass in; nothing here is global, so two layers in one process keep pages of their own.
//!
//! Streams carry token counts only if the engine is asked for them. [`AmendLayer`] asks, and takes
//! the extra event out of the answer again; it goes *below* the meter.
//!
//! ```
//! use plimsoll_meter::{MeterLayer, Record, sink_fn};
//! use tower_layer::Layer;
//!
//! # let service = ();
//! let layer = MeterLayer::new(sink_fn(|record: &Record| {
//!     println!("{} {:?}: {:?}", record.endpoint, record.outcome, record.usage.completion);
//! }));
//! let metered = layer.layer(service);
//! ```
//!
//! [`Bytes`]: bytes::Bytes

#[macro_use]
mod accessors;
pub mod amend;
mod body;
pub mod drain;
mod exchange;
mod future;
mod gaps;
mod guard;
mod layer;
pub mod metrics;
pub mod peek;
mod record;
mod service;
mod sink;
mod tenant;

pub use plimsoll_wire::{Endpoint, Role, Upstream, Usage, upstream};

pub use self::{
    amend::AmendLayer,
    body::MeteredBody,
    drain::DrainLayer,
    future::MeteredFuture,
    gaps::Gaps,
    layer::MeterLayer,
    metrics::{GenAiSink, MetricsSink, SmgSink},
    peek::PeekLayer,
    record::{Completeness, Outcome, Record, Timing},
    service::Meter,
    sink::{ChannelSink, FnSink, Sink, channel, sink_fn},
    tenant::{CredentialHeader, tenant_header},
};

#[cfg(test)]
mod tests;
