//! Records under the names of the SGLang router.

mod families;
mod handles;
mod labels;

use std::{fmt, sync::Arc};

use ::metrics::{Counter, Gauge, Histogram, Recorder};
use plimsoll_wire::{Endpoint, Role};

pub use self::families::SMG_FAMILIES;
use self::handles::{Answers, Backend, Exchanges, Retries};
use super::{
    cache::Cache,
    names::{MAX_MODELS, Names},
    registry::{Registry, SharedRecorder},
};
use crate::{Completeness, Outcome, Record, Sink};

/// Records requests under the names and labels of the SGLang router (`smg_*`, as of 0.3.2), so that
/// dashboards made for it work; also those that it leaves empty on HTTP: tokens and their times.
///
/// Requests are counted when their response body ends, and durations run until then. Token counts
/// are the engine's final ones, never estimates.
#[derive(Debug)]
pub struct SmgSink {
    models: Names,
    backend: Backend,
    active: Gauge,
    exchanges: Cache<(&'static str, Endpoint), Exchanges>,
    responses: Cache<(u16, &'static str), Counter>,
    requests: Cache<(ModelKey, bool), Counter>,
    errors: Cache<(ModelKey, &'static str), Counter>,
    answers: Cache<ModelKey, Answers>,
    selections: Cache<Arc<str>, Vec<Counter>>,
    retries: Cache<Endpoint, Retries>,
    backoffs: Cache<usize, Histogram>,
}

/// Makes an [`SmgSink`] that differs from the default.
pub struct SmgSinkBuilder {
    recorder: SharedRecorder,
    max_models: usize,
    policies: Vec<(Role, &'static str)>,
}

type ModelKey = (Endpoint, Arc<str>);

/// Retries told apart by their number; later ones count with the last of these.
const MAX_RETRY: usize = 16;

// === impl SmgSink ===

impl SmgSink {
    /// A sink for plain workers, each in turn.
    pub fn new(recorder: Arc<dyn Recorder + Send + Sync>) -> Self {
        Self::builder(recorder).build()
    }

    /// A sink with other settings than the default.
    pub fn builder(recorder: Arc<dyn Recorder + Send + Sync>) -> SmgSinkBuilder {
        let policies = vec![(Role::Plain, "round_robin")];
        SmgSinkBuilder { recorder, max_models: MAX_MODELS, policies }
    }

    /// The value of the label `worker_type`.
    pub fn worker_type(role: Role) -> &'static str {
        labels::worker_type(role)
    }

    fn count_exchange(&self, record: &Record) {
        let key = (labels::method(&record.method), record.endpoint);
        let exchanges = self.exchanges.get_or_insert(&key, || self.backend.exchanges(key));
        exchanges.requests.increment(1);
        exchanges.duration.record(record.timing.total);
        if let Some(status) = record.status {
            let key = (status, labels::error_code(record, status));
            self.responses.get_or_insert(&key, || self.backend.response(key)).increment(1);
        }
    }

    fn count_request(&self, record: &Record, key: &ModelKey) {
        let by_stream = (key.clone(), record.stream);
        let make = || self.backend.request(key, record.stream);
        self.requests.get_or_insert(&by_stream, make).increment(1);
        if let Some(error_type) = labels::error_type(record) {
            let by_type = (key.clone(), error_type);
            let make = || self.backend.error(key, error_type);
            self.errors.get_or_insert(&by_type, make).increment(1);
        }
    }

    fn count_answer(&self, record: &Record, key: &ModelKey) {
        let make = || self.backend.answers(key);
        let answers = self.answers.get_or_insert(key, make);
        if record.status.is_some_and(|status| (200..300).contains(&status)) {
            answers.duration.record(record.timing.total);
        }
        if record.completeness == Completeness::Exact {
            answers.input.increment(record.usage.prompt.unwrap_or_default());
            answers.output.increment(record.usage.completion.unwrap_or_default());
        }
        if let Some(first_token) = record.timing.first_token {
            answers.first_token.record(first_token);
        }
        if let Some(time) = record.time_per_output_token() {
            answers.per_output_token.record(time);
        }
        if let Some(last_token) = record.timing.last_token {
            answers.generation.record(last_token);
        }
    }

    /// Each attempt asks one worker of each role.
    fn count_attempts(&self, record: &Record, model: &Arc<str>) {
        let upstream = &record.upstream;
        let attempts = u64::from(upstream.attempts);
        if upstream.decode.is_some() {
            let make = || self.backend.selections(model);
            for selections in &*self.selections.get_or_insert(model, make) {
                selections.increment(attempts);
            }
        }
        let make = || self.backend.retries(record.endpoint);
        let retries = self.retries.get_or_insert(&record.endpoint, make);
        let failed = record.outcome == Outcome::UpstreamError
            && record.status.is_some_and(|status| status >= 500);
        for (retried, exhausted) in &*retries {
            retried.increment(attempts.saturating_sub(1));
            exhausted.increment(u64::from(failed && attempts > 1));
        }
        for (index, backoff) in upstream.backoffs.iter().enumerate() {
            self.backoff(index + 1).record(*backoff);
        }
    }

    fn backoff(&self, retry: usize) -> Arc<Histogram> {
        let retry = retry.min(MAX_RETRY);
        self.backoffs.get_or_insert(&retry, || self.backend.backoff(retry))
    }
}

impl Sink for SmgSink {
    fn begin(&self, _: Endpoint) {
        self.active.increment(1.0);
    }

    fn end(&self, _: Endpoint) {
        self.active.decrement(1.0);
    }

    fn record(&self, record: &Record) {
        let model = self.models.of(record);
        self.count_attempts(record, &model);
        let key = (record.endpoint, model);
        self.count_exchange(record);
        self.count_request(record, &key);
        self.count_answer(record, &key);
    }
}

// === impl SmgSinkBuilder ===

impl SmgSinkBuilder {
    /// How many models that no worker is known to serve are told apart ([`MAX_MODELS`]).
    #[must_use]
    pub fn max_models(self, max_models: usize) -> Self {
        Self { max_models, ..self }
    }

    /// The roles that a request needs, and the policy by which a worker of each is chosen: prefill
    /// and decode, or plain.
    #[must_use]
    pub fn policies(self, policies: Vec<(Role, &'static str)>) -> Self {
        Self { policies, ..self }
    }

    /// Describes the families to the recorder and makes the sink.
    pub fn build(self) -> SmgSink {
        let registry = Registry::new(self.recorder, None);
        registry.describe(&SMG_FAMILIES);
        let backend = Backend::new(registry, self.policies);
        let sink = SmgSink {
            models: Names::new(self.max_models),
            active: backend.active(),
            backend,
            exchanges: Cache::default(),
            responses: Cache::default(),
            requests: Cache::default(),
            errors: Cache::default(),
            answers: Cache::default(),
            selections: Cache::default(),
            retries: Cache::default(),
            backoffs: Cache::default(),
        };
        // On the page from the start.
        drop(sink.backoff(1));
        sink
    }
}

impl fmt::Debug for SmgSinkBuilder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SmgSinkBuilder").field("policies", &self.policies).finish_non_exhaustive()
    }
}
