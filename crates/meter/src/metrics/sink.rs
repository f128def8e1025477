use std::{fmt, sync::Arc};

use ::metrics::{Counter, Gauge, Histogram, Label, Recorder};
use plimsoll_wire::Endpoint;

use super::{
    cache::Cache,
    families::{self, FAMILIES},
    names::{MAX_MODELS, Names},
    registry::{Registry, SharedRecorder},
};
use crate::{Completeness, Outcome, Record, Sink};

/// Records requests as metrics. See the [module docs](super).
#[derive(Debug)]
pub struct MetricsSink {
    registry: Registry,
    models: Names,
    tenants: Option<Names>,
    in_flight: [Gauge; Endpoint::ALL.len()],
    requests: Cache<RequestKey, Counter>,
    usage: Cache<UsageKey, Counter>,
    streams: Cache<StreamKey, StreamHandles>,
    endpoints: Cache<EndpointKey, EndpointHandles>,
    prefills: Cache<Arc<str>, Histogram>,
    charges: Cache<TenantKey, TenantHandles>,
}

/// Makes a [`MetricsSink`] that differs from the default.
pub struct MetricsSinkBuilder {
    recorder: SharedRecorder,
    prefix: String,
    max_models: usize,
    max_tenants: Option<usize>,
}

type EndpointKey = (Endpoint, Arc<str>);
type StreamKey = (Endpoint, Arc<str>, bool);
type RequestKey = (StreamKey, Outcome, Option<u16>);
type UsageKey = (StreamKey, Completeness);
type TenantKey = (Arc<str>, Arc<str>);

/// Handles by endpoint, model and stream.
struct StreamHandles {
    duration: Histogram,
    first_byte: Histogram,
    prompt: Counter,
    completion: Counter,
    cached: Counter,
    reasoning: Counter,
    cache_reported: Counter,
}

/// Handles by endpoint and model.
struct EndpointHandles {
    first_token: Histogram,
    per_output_token: Histogram,
    inter_chunk: Histogram,
    partial: Counter,
    anomalies: Counter,
    request_prompt: Histogram,
    request_completion: Histogram,
}

/// Handles by tenant and model.
struct TenantHandles {
    prompt: Counter,
    completion: Counter,
}

// === impl MetricsSink ===

impl MetricsSink {
    /// A sink with names that start with `plimsoll_`.
    pub fn new(recorder: Arc<dyn Recorder + Send + Sync>) -> Self {
        Self::builder(recorder).build()
    }

    /// A sink with other settings than the default.
    pub fn builder(recorder: Arc<dyn Recorder + Send + Sync>) -> MetricsSinkBuilder {
        MetricsSinkBuilder {
            recorder,
            prefix: "plimsoll".to_owned(),
            max_models: MAX_MODELS,
            max_tenants: None,
        }
    }

    /// Exact counts go to the tenant too, so that all tenants' together are the totals.
    fn charge(&self, record: &Record, model: &Arc<str>) {
        let exact = record.completeness == Completeness::Exact;
        let Some(tenants) = self.tenants.as_ref().filter(|_| exact) else { return };
        let key = (tenants.label(record.tenant.as_deref()), model.clone());
        let charges = self.charges.get_or_insert(&key, || self.registry.tenant(&key));
        charges.prompt.increment(record.usage.prompt.unwrap_or_default());
        charges.completion.increment(record.usage.completion.unwrap_or_default());
    }

    fn count_tokens(&self, record: &Record, stream: &StreamHandles, endpoint: &EndpointHandles) {
        let usage = &record.usage;
        if let Some(prompt) = usage.prompt {
            stream.prompt.increment(prompt);
            endpoint.request_prompt.record(as_f64(prompt));
        }
        if let Some(completion) = usage.completion {
            stream.completion.increment(completion);
            endpoint.request_completion.record(as_f64(completion));
        }
        if let (Some(prompt), Some(cached)) = (usage.prompt, usage.cached) {
            stream.cached.increment(cached);
            stream.cache_reported.increment(prompt);
        }
        if let Some(reasoning) = usage.reasoning {
            stream.reasoning.increment(reasoning);
        }
    }
}

impl Sink for MetricsSink {
    fn begin(&self, endpoint: Endpoint) {
        self.in_flight[endpoint as usize].increment(1.0);
    }

    fn end(&self, endpoint: Endpoint) {
        self.in_flight[endpoint as usize].decrement(1.0);
    }

    fn record(&self, record: &Record) {
        let model = self.models.of(record);
        self.charge(record, &model);
        if let Some(duration) = record.prefill_duration {
            let prefill = self.prefills.get_or_insert(&model, || self.registry.prefill(&model));
            prefill.record(duration);
        }
        let by_endpoint = (record.endpoint, model);
        let by_stream = (record.endpoint, by_endpoint.1.clone(), record.stream);
        let registry = &self.registry;
        let endpoint =
            self.endpoints.get_or_insert(&by_endpoint, || registry.endpoint(&by_endpoint));
        let stream = self.streams.get_or_insert(&by_stream, || registry.stream(&by_stream));
        let by_usage = (by_stream.clone(), record.completeness);
        self.usage.get_or_insert(&by_usage, || registry.usage(&by_usage)).increment(1);
        let by_request = (by_stream, record.outcome, record.status);
        self.requests.get_or_insert(&by_request, || registry.request(&by_request)).increment(1);

        stream.duration.record(record.timing.total);
        if let Some(first_byte) = record.timing.first_byte {
            stream.first_byte.record(first_byte);
        }
        if let Some(first_token) = record.timing.first_token {
            endpoint.first_token.record(first_token);
        }
        if let Some(time) = record.time_per_output_token() {
            endpoint.per_output_token.record(time);
        }
        for (mean, count) in record.gaps.means() {
            endpoint.inter_chunk.record_many(mean, count as usize);
        }
        endpoint.anomalies.increment(record.anomalies);
        match record.completeness {
            Completeness::Exact => self.count_tokens(record, &stream, &endpoint),
            Completeness::Partial => {
                endpoint.partial.increment(record.completion_lower_bound.unwrap_or_default());
            }
            Completeness::Absent | Completeness::Unreadable => {}
        }
    }
}

// === impl MetricsSinkBuilder ===

impl MetricsSinkBuilder {
    /// Starts each name with `prefix` and an underscore, instead of `plimsoll_`.
    #[must_use]
    pub fn prefix(self, prefix: impl Into<String>) -> Self {
        Self { prefix: prefix.into(), ..self }
    }

    /// How many models that no worker is known to serve get series of their own ([`MAX_MODELS`]).
    #[must_use]
    pub fn max_models(self, max_models: usize) -> Self {
        Self { max_models, ..self }
    }

    /// Counts tokens by tenant as well: so many tenants have series of their own, further ones are
    /// `other`. (Off: see [`MeterLayer::tenant`](crate::MeterLayer::tenant) for who they are.)
    #[must_use]
    pub fn tenants(self, max_tenants: usize) -> Self {
        Self { max_tenants: Some(max_tenants), ..self }
    }

    /// Describes the families to the recorder and makes the sink.
    pub fn build(self) -> MetricsSink {
        let registry = Registry::new(self.recorder, Some(self.prefix));
        registry.describe(&FAMILIES);
        MetricsSink {
            in_flight: Endpoint::ALL.map(|endpoint| registry.in_flight(endpoint)),
            models: Names::new(self.max_models),
            tenants: self.max_tenants.map(Names::new),
            registry,
            requests: Cache::default(),
            usage: Cache::default(),
            streams: Cache::default(),
            endpoints: Cache::default(),
            prefills: Cache::default(),
            charges: Cache::default(),
        }
    }
}

// === impl Registry ===

impl Registry {
    fn in_flight(&self, endpoint: Endpoint) -> Gauge {
        self.gauge(
            families::IN_FLIGHT,
            vec![Label::from_static_parts("endpoint", endpoint.as_str())],
        )
    }

    fn request(&self, ((endpoint, model, stream), outcome, status): &RequestKey) -> Counter {
        let mut labels = stream_labels(*endpoint, model, *stream);
        labels.push(Label::from_static_parts("outcome", outcome.as_str()));
        labels.push(Label::new("code", status.unwrap_or_default().to_string()));
        self.counter(families::REQUESTS, labels)
    }

    fn usage(&self, ((endpoint, model, stream), completeness): &UsageKey) -> Counter {
        let mut labels = stream_labels(*endpoint, model, *stream);
        labels.push(Label::from_static_parts("completeness", completeness.as_str()));
        self.counter(families::USAGE, labels)
    }

    fn stream(&self, (endpoint, model, stream): &StreamKey) -> StreamHandles {
        let labels = || stream_labels(*endpoint, model, *stream);
        StreamHandles {
            duration: self.histogram(families::REQUEST_DURATION, labels()),
            first_byte: self.histogram(families::FIRST_BYTE, labels()),
            prompt: self.counter(families::PROMPT_TOKENS, labels()),
            completion: self.counter(families::COMPLETION_TOKENS, labels()),
            cached: self.counter(families::CACHED_TOKENS, labels()),
            reasoning: self.counter(families::REASONING_TOKENS, labels()),
            cache_reported: self.counter(families::CACHE_REPORTED, labels()),
        }
    }

    fn endpoint(&self, (endpoint, model): &EndpointKey) -> EndpointHandles {
        let labels = || endpoint_labels(*endpoint, model);
        EndpointHandles {
            first_token: self.histogram(families::FIRST_TOKEN, labels()),
            per_output_token: self.histogram(families::PER_OUTPUT_TOKEN, labels()),
            inter_chunk: self.histogram(families::INTER_CHUNK, labels()),
            partial: self.counter(families::PARTIAL_TOKENS, labels()),
            anomalies: self.counter(families::ANOMALIES, labels()),
            request_prompt: self.histogram(families::REQUEST_PROMPT, labels()),
            request_completion: self.histogram(families::REQUEST_COMPLETION, labels()),
        }
    }

    fn prefill(&self, model: &Arc<str>) -> Histogram {
        self.histogram(families::PREFILL, vec![Label::new("model", model.clone())])
    }

    fn tenant(&self, (tenant, model): &TenantKey) -> TenantHandles {
        let of_kind = |kind| {
            let labels = vec![
                Label::new("tenant", tenant.clone()),
                Label::new("model", model.clone()),
                Label::from_static_parts("kind", kind),
            ];
            self.counter(families::TENANT_TOKENS, labels)
        };
        TenantHandles { prompt: of_kind("prompt"), completion: of_kind("completion") }
    }
}

fn endpoint_labels(endpoint: Endpoint, model: &Arc<str>) -> Vec<Label> {
    vec![
        Label::from_static_parts("endpoint", endpoint.as_str()),
        Label::new("model", model.clone()),
    ]
}

fn stream_labels(endpoint: Endpoint, model: &Arc<str>, stream: bool) -> Vec<Label> {
    let mut labels = endpoint_labels(endpoint, model);
    labels.push(Label::from_static_parts("stream", if stream { "true" } else { "false" }));
    labels
}

#[expect(clippy::cast_precision_loss, reason = "token counts stay far below 2^53")]
pub(super) fn as_f64(count: u64) -> f64 {
    count as f64
}

impl fmt::Debug for MetricsSinkBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MetricsSinkBuilder").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}
