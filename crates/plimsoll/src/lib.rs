//! Token accounting for services that speak the OpenAI formats.
//!
//! A service gets it in two lines: an [`Exporter`], and its [`layer`](Exporter::layer).
//!
//! ```
//! # fn service() -> impl Clone {}
//! use plimsoll::Exporter;
//! use tower_layer::Layer;
//!
//! let exporter = Exporter::new();
//! let metered = exporter.layer().layer(service());
//! // Serve this where Prometheus looks for it:
//! let page = exporter.page();
//! # assert!(page.contains("plimsoll_requests_in_flight"));
//! ```
//!
//! The parts are there alone too: [`MeterLayer`] with any [`Sink`], [`MetricsSink`] on any recorder,
//! [`AmendLayer`] that asks engines for the counts of streams. The router and the command line are
//! in the binary of the same name.

mod exporter;

pub use plimsoll_meter::{
    AmendLayer, Completeness, Endpoint, FnSink, Gaps, Meter, MeterLayer, MeteredBody,
    MeteredFuture, MetricsSink, Outcome, Record, Sink, Timing, Usage, amend, metrics, sink_fn,
};

pub use self::exporter::{Exporter, ExporterBuilder, PageSource};
