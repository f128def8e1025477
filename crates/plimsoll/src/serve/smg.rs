//! The metrics that follow a worker's life, under the names of the SGLang router.

use std::{
    collections::BTreeMap,
    sync::{Arc, Mutex, PoisonError},
};

use plimsoll::{PageSource, SmgSink};
use plimsoll_router::{AttemptResult, Cluster, Worker};
use plimsoll_scrape::exposition::escaped;
use plimsoll_wire::Role;

use super::{family, readings::Readings};

/// Writes the workers' families of the SGLang router.
#[derive(Debug)]
pub(super) struct SmgMetrics {
    cluster: Arc<Cluster>,
    readings: Arc<Readings>,
    errors: Mutex<Errors>,
}

/// What is shown of one worker.
struct Shown {
    url: Arc<str>,
    role: Role,
    up: bool,
    in_flight: usize,
    breaker: Breaker,
}

/// What is shown of a worker's circuit breaker.
struct Breaker {
    /// 0 closed, 1 open, 2 half-open.
    state: u8,
    consecutive_failures: u32,
    consecutive_successes: u32,
    /// What it counted as a success, and as a failure.
    outcomes: [(&'static str, u64); 2],
}

/// Failed legs by role and type. Those of workers that have gone stay in the sums: a counter that
/// falls is taken for one that began anew.
#[derive(Debug, Default)]
struct Errors {
    seen: Vec<Arc<Worker>>,
    gone: ByType,
}

type ByType = BTreeMap<(Role, &'static str), u64>;

type Value = fn(&Shown) -> u64;

const GAUGES: [(&str, &str, Value); 5] = [
    ("smg_worker_cb_consecutive_failures", "Failures in a row, by its breaker.", |worker| {
        worker.breaker.consecutive_failures.into()
    }),
    ("smg_worker_cb_consecutive_successes", "Successes in a row, by its breaker.", |worker| {
        worker.breaker.consecutive_successes.into()
    }),
    ("smg_worker_cb_state", "Its breaker: 0 closed, 1 open, 2 half-open.", |worker| {
        worker.breaker.state.into()
    }),
    ("smg_worker_health", "1 if the worker's last probes succeeded.", |worker| worker.up.into()),
    ("smg_worker_requests_active", "Requests and probes of it under way.", |worker| {
        worker.in_flight as u64
    }),
];

/// Which failures are of which type.
const ERRORS: [(AttemptResult, &str); 4] = [
    (AttemptResult::ConnectError, "backend_error"),
    (AttemptResult::Reset, "backend_error"),
    (AttemptResult::Status5xx, "backend_error"),
    (AttemptResult::Timeout, "timeout"),
];

// === impl SmgMetrics ===

impl SmgMetrics {
    pub(super) fn new(cluster: Arc<Cluster>, readings: Arc<Readings>) -> Self {
        Self { cluster, readings, errors: Mutex::default() }
    }

    fn pool_sizes(&self, workers: &[Shown]) -> BTreeMap<(Role, String), u64> {
        let models = self.readings.models();
        let mut sizes = BTreeMap::new();
        for worker in workers {
            let model = models.get(&worker.url).map_or("unknown", |model| model);
            *sizes.entry((worker.role, escaped(model).into_owned())).or_default() += 1;
        }
        sizes
    }

    fn errors(&self, workers: &[Arc<Worker>]) -> ByType {
        let mut errors = self.errors.lock().unwrap_or_else(PoisonError::into_inner);
        let mut sums = errors.sums(workers);
        for &role in self.cluster.needed_roles() {
            for (_, error_type) in ERRORS {
                sums.entry((role, error_type)).or_default();
            }
        }
        sums
    }
}

impl PageSource for SmgMetrics {
    fn write(&self, page: &mut String) {
        let live = self.cluster.workers();
        let workers: Vec<_> = live.iter().map(|worker| Shown::of(worker)).collect();
        for (name, help, value) in GAUGES {
            let samples = workers.iter().map(|worker| (worker.label(), value(worker)));
            family::write(page, (name, "gauge", help), samples);
        }
        let sizes = self.pool_sizes(&workers);
        let samples = sizes.iter().map(|((role, model), size)| {
            (format!("{},model=\"{model}\"", role_labels(*role)), *size)
        });
        family::write(page, ("smg_worker_pool_size", "gauge", "Workers, up or not."), samples);
        let outcomes = workers.iter().flat_map(|worker| {
            let outcomes = worker.breaker.outcomes.iter();
            outcomes.map(|(outcome, count)| {
                (format!("{},outcome=\"{outcome}\"", worker.label()), *count)
            })
        });
        let help = "Legs by what they mean to the worker's breaker.";
        family::write(page, ("smg_worker_cb_outcomes_total", "counter", help), outcomes);
        let errors = self.errors(&live);
        let samples = errors.iter().map(|((role, error_type), count)| {
            (format!("{},error_type=\"{error_type}\"", role_labels(*role)), *count)
        });
        let help = "Legs that failed on the worker's side.";
        family::write(page, ("smg_worker_errors_total", "counter", help), samples);
    }
}

// === impl Shown ===

impl Shown {
    /// All that is read of a worker is read here.
    fn of(worker: &Worker) -> Self {
        Self {
            url: worker.url().clone(),
            role: worker.role(),
            up: worker.is_up(),
            in_flight: worker.in_flight(),
            breaker: Breaker::of(worker),
        }
    }

    /// A worker's URL was checked when it came: it holds nothing to escape.
    fn label(&self) -> String {
        format!("worker=\"{}\"", self.url)
    }
}

// === impl Breaker ===

impl Breaker {
    /// All that is read of a breaker is read here.
    fn of(worker: &Worker) -> Self {
        let succeeded = [AttemptResult::Ok, AttemptResult::Status4xx];
        let succeeded = succeeded.map(|result| worker.attempts(result)).iter().sum();
        let failed = ERRORS.map(|(result, _)| worker.attempts(result)).iter().sum();
        Self {
            state: worker.breaker_state().number(),
            consecutive_failures: worker.consecutive_failures(),
            consecutive_successes: worker.consecutive_successes(),
            outcomes: [("success", succeeded), ("failure", failed)],
        }
    }
}

// === impl Errors ===

impl Errors {
    fn sums(&mut self, live: &[Arc<Worker>]) -> ByType {
        let is_live = |seen: &Arc<Worker>| live.iter().any(|worker| Arc::ptr_eq(worker, seen));
        for gone in self.seen.iter().filter(|seen| !is_live(seen)) {
            count(&mut self.gone, gone);
        }
        self.seen = live.to_vec();
        let mut sums = self.gone.clone();
        live.iter().for_each(|worker| count(&mut sums, worker));
        sums
    }
}

fn count(sums: &mut ByType, worker: &Worker) {
    for (result, error_type) in ERRORS {
        *sums.entry((worker.role(), error_type)).or_default() += worker.attempts(result);
    }
}

fn role_labels(role: Role) -> String {
    format!("worker_type=\"{}\",connection_mode=\"http\"", SmgSink::worker_type(role))
}
