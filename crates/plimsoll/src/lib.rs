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
//! The parts are there alone too: [`MeterLayer`] with any [`Sink`] (a closure by [`sink_fn`], a
//! [`channel`], a [`UsageLog`], pairs of them), [`MetricsSink`], [`GenAiSink`] and [`SmgSink`] on any recorder,
//! [`AmendLayer`] that asks engines for the counts of streams, [`PeekLayer`] that reads what requests
//! ask for, [`DrainLayer`] that reads on for the true count when a client leaves. The router and the command line are
//! in the binary of the same name.

mod exporter;
mod usage_log;

pub use plimsoll_meter::{
    AmendLayer, ChannelSink, Completeness, CredentialHeader, DrainLayer, Endpoint, FnSink, Gaps,
    GenAiSink, Meter, MeterLayer, MeteredBody, MeteredFuture, MetricsSink, Outcome, PeekLayer,
    Record, Role, Sink, SmgSink, Timing, Upstream, Usage, amend, channel, drain, metrics, peek,
    sink_fn, tenant_header, upstream,
};

pub use self::{
    exporter::{Exporter, ExporterBuilder, ExporterSink, PageSource},
    usage_log::{UsageLog, UsageLogSink},
};
