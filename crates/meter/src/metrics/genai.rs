//! Records under the names of OpenTelemetry's conventions for generative AI.

use std::{fmt, sync::Arc};

use ::metrics::{Histogram, Label, Recorder};
use plimsoll_wire::Endpoint;

use super::{
    cache::Cache,
    families::{Family, histogram},
    names::{MAX_MODELS, Names},
    registry::{Registry, SharedRecorder},
};
use crate::{Completeness, Outcome, Record, Sink};

/// Records requests under the names, attributes and bucket boundaries of the OpenTelemetry semantic
/// conventions for generative AI (as of 2026-05), in the form that Prometheus gives them, so that
/// dashboards made for other gateways work.
///
/// Token usage is recorded where the engine's final numbers are known, never as an estimate. The
/// attributes are `gen_ai_operation_name`, `gen_ai_provider_name`, `gen_ai_token_type`,
/// `gen_ai_request_model` and `gen_ai_response_model` (where known), and `error_type`.
#[derive(Debug)]
pub struct GenAiSink {
    registry: Registry,
    provider: String,
    models: Names,
    handles: Cache<Key, Handles>,
    durations: Cache<(Key, Option<ErrorType>), Histogram>,
}

/// Makes a [`GenAiSink`] that differs from the default.
pub struct GenAiSinkBuilder {
    recorder: SharedRecorder,
    provider: String,
    max_models: usize,
}

/// Every family of [`GenAiSink`], by its whole name.
pub const GENAI_FAMILIES: [Family; 4] = [USAGE, DURATION, FIRST_TOKEN, PER_OUTPUT_TOKEN];

const USAGE: Family = histogram(
    "gen_ai_client_token_usage",
    &[
        1.0,
        4.0,
        16.0,
        64.0,
        256.0,
        1024.0,
        4096.0,
        16384.0,
        65536.0,
        262_144.0,
        1_048_576.0,
        4_194_304.0,
        16_777_216.0,
        67_108_864.0,
    ],
    "Tokens read (input) and written (output) by a request, as the engine states them.",
);
const DURATION: Family = histogram(
    "gen_ai_server_request_duration_seconds",
    &[0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92],
    "Time from a request's arrival to the end of its response body.",
);
const FIRST_TOKEN: Family = histogram(
    "gen_ai_server_time_to_first_token_seconds",
    &[0.001, 0.005, 0.01, 0.02, 0.04, 0.06, 0.08, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0],
    "Time from a request's arrival to the first text of a 2xx stream.",
);
const PER_OUTPUT_TOKEN: Family = histogram(
    "gen_ai_server_time_per_output_token_seconds",
    &[0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.75, 1.0, 2.5],
    "Mean time per output token after the first, of streams with exact counts.",
);

/// Operation, model asked for, model that answered.
type Key = (&'static str, Option<Arc<str>>, Option<Arc<str>>);

/// The outcome, or the status where that says more.
type ErrorType = (Outcome, Option<u16>);

struct Handles {
    input: Histogram,
    output: Histogram,
    first_token: Histogram,
    per_output_token: Histogram,
}

// === impl GenAiSink ===

impl GenAiSink {
    /// A sink whose provider is `openai`: what the conventions name a service that speaks its
    /// format, and nothing more is known of.
    pub fn new(recorder: Arc<dyn Recorder + Send + Sync>) -> Self {
        Self::builder(recorder).build()
    }

    /// A sink with other settings than the default.
    pub fn builder(recorder: Arc<dyn Recorder + Send + Sync>) -> GenAiSinkBuilder {
        GenAiSinkBuilder { recorder, provider: "openai".to_owned(), max_models: MAX_MODELS }
    }

    fn key(&self, record: &Record) -> Key {
        // What nobody serves may be anything, and is bounded.
        let bounded = |model: &Option<Arc<str>>| {
            let model = model.as_ref()?;
            let served = record.model_is_served && record.model.as_ref() == Some(model);
            Some(if served { model.clone() } else { self.models.label(Some(model)) })
        };
        let (asked, answered) = (&record.asked_model, &record.answered_model);
        (operation(record.endpoint), bounded(asked), bounded(answered))
    }

    fn labels(&self, (operation, asked, answered): &Key) -> Vec<Label> {
        let mut labels = vec![
            Label::from_static_parts("gen_ai_operation_name", operation),
            Label::new("gen_ai_provider_name", self.provider.clone()),
        ];
        let models = [("gen_ai_request_model", asked), ("gen_ai_response_model", answered)];
        let models = models.into_iter().filter_map(|(name, model)| Some((name, model.clone()?)));
        labels.extend(models.map(|(name, model)| Label::new(name, model)));
        labels
    }

    fn handles(&self, key: &Key) -> Handles {
        let of_type = |token_type| {
            let mut labels = self.labels(key);
            labels.push(Label::from_static_parts("gen_ai_token_type", token_type));
            self.registry.histogram(USAGE, labels)
        };
        Handles {
            input: of_type("input"),
            output: of_type("output"),
            first_token: self.registry.histogram(FIRST_TOKEN, self.labels(key)),
            per_output_token: self.registry.histogram(PER_OUTPUT_TOKEN, self.labels(key)),
        }
    }

    fn duration(&self, (key, error): &(Key, Option<ErrorType>)) -> Histogram {
        let mut labels = self.labels(key);
        let error = error.map(|(outcome, status)| match status.filter(|&status| status >= 400) {
            Some(status) => status.to_string(),
            None => outcome.as_str().to_owned(),
        });
        labels.extend(error.map(|error| Label::new("error_type", error)));
        self.registry.histogram(DURATION, labels)
    }
}

impl Sink for GenAiSink {
    fn record(&self, record: &Record) {
        let key = self.key(record);
        let error =
            (record.outcome != Outcome::Complete).then_some((record.outcome, record.status));
        let by_error = (key.clone(), error);
        let duration = self.durations.get_or_insert(&by_error, || self.duration(&by_error));
        duration.record(record.timing.total);
        let handles = self.handles.get_or_insert(&key, || self.handles(&key));
        if record.completeness == Completeness::Exact {
            let counts =
                [(&handles.input, record.usage.prompt), (&handles.output, record.usage.completion)];
            for (histogram, count) in counts {
                if let Some(count) = count {
                    histogram.record(super::sink::as_f64(count));
                }
            }
        }
        if let Some(first_token) = record.timing.first_token {
            handles.first_token.record(first_token);
        }
        if let Some(time) = record.time_per_output_token() {
            handles.per_output_token.record(time);
        }
    }
}

// === impl GenAiSinkBuilder ===

impl GenAiSinkBuilder {
    /// The value of `gen_ai_provider_name` (`openai`).
    #[must_use]
    pub fn provider(self, provider: impl Into<String>) -> Self {
        Self { provider: provider.into(), ..self }
    }

    /// How many models that no worker is known to serve are told apart ([`MAX_MODELS`]).
    #[must_use]
    pub fn max_models(self, max_models: usize) -> Self {
        Self { max_models, ..self }
    }

    /// Describes the families to the recorder and makes the sink.
    pub fn build(self) -> GenAiSink {
        let registry = Registry::new(self.recorder, None);
        registry.describe(&GENAI_FAMILIES);
        GenAiSink {
            registry,
            provider: self.provider,
            models: Names::new(self.max_models),
            handles: Cache::default(),
            durations: Cache::default(),
        }
    }
}

/// The value of `gen_ai_operation_name`: the conventions' own where they have one.
fn operation(endpoint: Endpoint) -> &'static str {
    match endpoint {
        Endpoint::Chat | Endpoint::Responses | Endpoint::Messages => "chat",
        Endpoint::Completions | Endpoint::Generate => "text_completion",
        other => other.as_str(),
    }
}

impl fmt::Debug for GenAiSinkBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("GenAiSinkBuilder").field("provider", &self.provider).finish_non_exhaustive()
    }
}
