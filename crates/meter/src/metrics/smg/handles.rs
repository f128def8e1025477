//! Handles by label set.

use std::sync::Arc;

use ::metrics::{Counter, Gauge, Histogram, Label};
use plimsoll_wire::{Endpoint, Role};

use super::{ModelKey, families, labels};
use crate::metrics::{families::Family, registry::Registry};

/// Makes the handles. What the labels say of who answers is fixed at the start.
#[derive(Debug)]
pub(super) struct Backend {
    registry: Registry,
    policies: Vec<(Role, &'static str)>,
    backend_type: &'static str,
}

/// Handles by method and route.
pub(super) struct Exchanges {
    pub(super) requests: Counter,
    pub(super) duration: Histogram,
}

/// Handles by endpoint and model.
pub(super) struct Answers {
    pub(super) duration: Histogram,
    pub(super) input: Counter,
    pub(super) output: Counter,
    pub(super) first_token: Histogram,
    pub(super) per_output_token: Histogram,
    pub(super) generation: Histogram,
}

/// Retries and requests for which they were not enough, for each role.
pub(super) type Retries = Vec<(Counter, Counter)>;

const CONNECTION: Label = Label::from_static_parts("connection_mode", "http");

// === impl Backend ===

impl Backend {
    pub(super) fn new(registry: Registry, policies: Vec<(Role, &'static str)>) -> Self {
        let is_plain = policies.iter().all(|(role, _)| *role == Role::Plain);
        Self { registry, policies, backend_type: if is_plain { "regular" } else { "pd" } }
    }

    pub(super) fn active(&self) -> Gauge {
        self.registry.gauge(families::HTTP_ACTIVE, Vec::new())
    }

    pub(super) fn exchanges(&self, (method, endpoint): (&'static str, Endpoint)) -> Exchanges {
        let labels = || {
            vec![
                Label::from_static_parts("method", method),
                Label::from_static_parts("path", labels::path(endpoint)),
            ]
        };
        Exchanges {
            requests: self.registry.counter(families::HTTP_REQUESTS, labels()),
            duration: self.registry.histogram(families::HTTP_DURATION, labels()),
        }
    }

    pub(super) fn response(&self, (status, error_code): (u16, &'static str)) -> Counter {
        let labels = vec![
            Label::new("status_code", status.to_string()),
            Label::from_static_parts("error_code", error_code),
        ];
        self.registry.counter(families::HTTP_RESPONSES, labels)
    }

    pub(super) fn request(&self, key: &ModelKey, stream: bool) -> Counter {
        let mut labels = self.request_labels(key);
        let streaming = if stream { "true" } else { "false" };
        labels.push(Label::from_static_parts("streaming", streaming));
        self.registry.counter(families::REQUESTS, labels)
    }

    pub(super) fn error(&self, key: &ModelKey, error_type: &'static str) -> Counter {
        let mut labels = self.request_labels(key);
        labels.push(Label::from_static_parts("error_type", error_type));
        self.registry.counter(families::ERRORS, labels)
    }

    pub(super) fn answers(&self, key: &ModelKey) -> Answers {
        let tokens = |token_type| {
            let mut labels = self.answer_labels(key);
            labels.push(Label::from_static_parts("token_type", token_type));
            self.registry.counter(families::TOKENS, labels)
        };
        let of = |family: Family| self.registry.histogram(family, self.answer_labels(key));
        Answers {
            duration: self.registry.histogram(families::REQUEST_DURATION, self.request_labels(key)),
            input: tokens("input"),
            output: tokens("output"),
            first_token: of(families::FIRST_TOKEN),
            per_output_token: of(families::PER_OUTPUT_TOKEN),
            generation: of(families::GENERATION),
        }
    }

    pub(super) fn selections(&self, model: &Arc<str>) -> Vec<Counter> {
        let of_role = |&(role, policy)| {
            let labels = vec![
                worker_type(role),
                CONNECTION,
                Label::new("model", model.clone()),
                Label::from_static_parts("policy", policy),
            ];
            self.registry.counter(families::SELECTIONS, labels)
        };
        self.policies.iter().map(of_role).collect()
    }

    pub(super) fn retries(&self, endpoint: Endpoint) -> Retries {
        let of_role = |&(role, _): &(Role, _)| {
            let endpoint = Label::from_static_parts("endpoint", endpoint.as_str());
            let labels = vec![worker_type(role), endpoint];
            let exhausted = self.registry.counter(families::EXHAUSTED, labels.clone());
            (self.registry.counter(families::RETRIES, labels), exhausted)
        };
        self.policies.iter().map(of_role).collect()
    }

    pub(super) fn backoff(&self, retry: usize) -> Histogram {
        self.registry.histogram(families::BACKOFFS, vec![Label::new("attempt", retry.to_string())])
    }

    fn labels(&self) -> Vec<Label> {
        vec![
            Label::from_static_parts("router_type", "http"),
            Label::from_static_parts("backend_type", self.backend_type),
        ]
    }

    fn request_labels(&self, key: &ModelKey) -> Vec<Label> {
        let mut labels = self.labels();
        labels.push(CONNECTION);
        labels.extend(model(key));
        labels
    }

    fn answer_labels(&self, key: &ModelKey) -> Vec<Label> {
        let mut labels = self.labels();
        labels.extend(model(key));
        labels
    }
}

fn model((endpoint, model): &ModelKey) -> [Label; 2] {
    [Label::new("model", model.clone()), Label::from_static_parts("endpoint", endpoint.as_str())]
}

fn worker_type(role: Role) -> Label {
    Label::from_static_parts("worker_type", labels::worker_type(role))
}
