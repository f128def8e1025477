//! Records as metrics.
//!
//! [`MetricsSink`] registers its metrics on a recorder that is passed in, never on the global one.
//! Handles are registered once for each label set and kept, so a request costs a look-up and a few
//! atomic steps. Label sets are bounded: the endpoints, outcomes and statuses are few, and of model
//! names that no worker is known to serve only the first `max_models` ([`MAX_MODELS`]) get series of their
//! own; the rest count as `other`.
//!
//! [`FAMILIES`] lists what is recorded, with the buckets that a Prometheus exporter must be given:
//! without them it prints summaries, which cannot be added up over routers.

mod cache;
mod families;
mod genai;
mod names;
mod registry;
mod sink;
mod smg;

pub use self::{
    families::{FAMILIES, Family, Kind},
    genai::{GENAI_FAMILIES, GenAiSink, GenAiSinkBuilder},
    names::MAX_MODELS,
    sink::{MetricsSink, MetricsSinkBuilder},
    smg::{SMG_FAMILIES, SmgSink, SmgSinkBuilder},
};
