use std::{fmt, sync::Arc};

use ::metrics::{Counter, Gauge, Histogram, Key, KeyName, Label, Level, Metadata, Recorder, Unit};
use plimsoll_wire::Endpoint;

use super::{
    cache::Cache,
    families::{self, FAMILIES, Family, Kind},
    models::Models,
};
use crate::{Completeness, Outcome, Record, Sink};

type SharedRecorder = Arc<dyn Recorder + Send + Sync>;

/// Records requests as metrics. See the [module docs](super).
#[derive(Debug)]
pub struct MetricsSink {
    registry: Registry,
    models: Models,
    in_flight: [Gauge; Endpoint::ALL.len()],
    requests: Cache<RequestKey, Counter>,
    usage: Cache<UsageKey, Counter>,
    streams: Cache<StreamKey, StreamHandles>,
    endpoints: Cache<EndpointKey, EndpointHandles>,
}

/// Makes a [`MetricsSink`] that differs from the default.
pub struct MetricsSinkBuilder {
    recorder: SharedRecorder,
    prefix: String,
    max_models: usize,
}

type EndpointKey = (Endpoint, Arc<str>);
type StreamKey = (Endpoint, Arc<str>, bool);
type RequestKey = (StreamKey, Outcome, Option<u16>);
type UsageKey = (StreamKey, Completeness);

/// Registers handles under one prefix.
struct Registry {
    recorder: SharedRecorder,
    prefix: String,
}

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
    request_prompt: Histogram,
    request_completion: Histogram,
}

// === impl MetricsSink ===

impl MetricsSink {
    /// A sink with names that start with `plimsoll_`.
    pub fn new(recorder: Arc<dyn Recorder + Send + Sync>) -> Self {
        Self::builder(recorder).build()
    }

    /// A sink with other settings than the default.
    pub fn builder(recorder: Arc<dyn Recorder + Send + Sync>) -> MetricsSinkBuilder {
        MetricsSinkBuilder { recorder, prefix: "plimsoll".to_owned(), max_models: 100 }
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
        let model = self.models.label(record.model.as_ref(), record.model_is_served);
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

    /// How many models that no worker is known to serve get series of their own (100).
    #[must_use]
    pub fn max_models(self, max_models: usize) -> Self {
        Self { max_models, ..self }
    }

    /// Describes the families to the recorder and makes the sink.
    pub fn build(self) -> MetricsSink {
        let registry = Registry { recorder: self.recorder, prefix: self.prefix };
        registry.describe();
        MetricsSink {
            in_flight: Endpoint::ALL.map(|endpoint| registry.in_flight(endpoint)),
            models: Models::new(self.max_models),
            registry,
            requests: Cache::default(),
            usage: Cache::default(),
            streams: Cache::default(),
            endpoints: Cache::default(),
        }
    }
}

// === impl Registry ===

impl Registry {
    fn describe(&self) {
        for family in FAMILIES {
            let name = KeyName::from(self.name(family));
            let unit = family.name.ends_with("_seconds").then_some(Unit::Seconds);
            match family.kind {
                Kind::Counter => self.recorder.describe_counter(name, unit, family.help.into()),
                Kind::Gauge => self.recorder.describe_gauge(name, unit, family.help.into()),
                Kind::Histogram(_) => {
                    self.recorder.describe_histogram(name, unit, family.help.into());
                }
            }
        }
    }

    fn in_flight(&self, endpoint: Endpoint) -> Gauge {
        let labels = vec![Label::from_static_parts("endpoint", endpoint.as_str())];
        let key = Key::from_parts(self.name(families::IN_FLIGHT), labels);
        let gauge = self.recorder.register_gauge(&key, &METADATA);
        gauge.set(0.0);
        gauge
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
            request_prompt: self.histogram(families::REQUEST_PROMPT, labels()),
            request_completion: self.histogram(families::REQUEST_COMPLETION, labels()),
        }
    }

    fn counter(&self, family: Family, labels: Vec<Label>) -> Counter {
        let key = Key::from_parts(self.name(family), labels);
        let counter = self.recorder.register_counter(&key, &METADATA);
        counter.increment(0);
        counter
    }

    fn histogram(&self, family: Family, labels: Vec<Label>) -> Histogram {
        let key = Key::from_parts(self.name(family), labels);
        self.recorder.register_histogram(&key, &METADATA)
    }

    fn name(&self, family: Family) -> String {
        format!("{}_{}", self.prefix, family.name)
    }
}

static METADATA: Metadata<'static> =
    Metadata::new(module_path!(), Level::INFO, Some(module_path!()));

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
fn as_f64(count: u64) -> f64 {
    count as f64
}

impl fmt::Debug for Registry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Registry").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}

impl fmt::Debug for MetricsSinkBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MetricsSinkBuilder").field("prefix", &self.prefix).finish_non_exhaustive()
    }
}
