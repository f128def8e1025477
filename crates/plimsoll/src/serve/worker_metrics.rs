//! The metrics that follow a worker's life, written when the page is.

use std::sync::Arc;

use plimsoll::PageSource;
use plimsoll_router::{AttemptResult, Cluster, RetryReason, WAIT_BOUNDS, Worker};

use super::family;

/// Writes the workers' families.
#[derive(Debug)]
pub(super) struct WorkerMetrics(Arc<Cluster>);

type Value = fn(&Worker) -> usize;

const GAUGES: [(&str, &str, Value); 4] = [
    (
        "plimsoll_worker_breaker_state",
        "The worker's breaker: 0 closed, 1 open, 2 half-open.",
        |worker| worker.breaker_state().number().into(),
    ),
    ("plimsoll_worker_eligible", "1 if the worker may get requests.", |worker| {
        usize::from(worker.is_eligible())
    }),
    ("plimsoll_worker_in_flight", "Requests and probes of it under way.", Worker::in_flight),
    ("plimsoll_worker_up", "1 if the worker's last probes succeeded.", |worker| {
        usize::from(worker.is_up())
    }),
];

// === impl WorkerMetrics ===

impl WorkerMetrics {
    pub(super) fn new(cluster: Arc<Cluster>) -> Self {
        Self(cluster)
    }

    fn write_queue(&self, page: &mut String) {
        let head = ("plimsoll_queue_depth", "gauge", "Requests that wait for room.");
        family::write(page, head, [("", self.0.queue_depth())]);
        let help = "Time that requests have waited for room, those that gave up included.";
        let (head, waits) = (("plimsoll_queue_wait_seconds", help), self.0.queue_waits());
        family::write_histogram(
            page,
            head,
            &WAIT_BOUNDS,
            waits.counts(),
            waits.sum().as_secs_f64(),
        );
    }
}

/// A worker's URL was checked when it came: it holds nothing to escape.
fn labels(worker: &Worker) -> String {
    format!("worker=\"{}\",role=\"{}\"", worker.url(), worker.role())
}

impl PageSource for WorkerMetrics {
    fn write(&self, page: &mut String) {
        let workers = self.0.workers();
        let attempts = workers.iter().flat_map(|worker| {
            let labels = labels(worker);
            AttemptResult::ALL.map(|result| {
                (format!("{labels},result=\"{}\"", result.as_str()), worker.attempts(result))
            })
        });
        let help = "Legs of requests by worker and by how they ended.";
        family::write(page, ("plimsoll_attempts_total", "counter", help), attempts);
        for (name, help, value) in GAUGES {
            let samples = workers.iter().map(|worker| (labels(worker), value(worker)));
            family::write(page, (name, "gauge", help), samples);
        }
        self.write_queue(page);
        let retries = RetryReason::ALL.map(|reason| {
            (format!("reason=\"{}\"", reason.as_str()), self.0.retries().count(reason))
        });
        let help = "Requests tried again, by why.";
        family::write(page, ("plimsoll_retries_total", "counter", help), retries);
        let version = [(concat!("version=\"", env!("CARGO_PKG_VERSION"), "\""), 1)];
        family::write(page, ("plimsoll_build_info", "gauge", "The version that runs."), version);
    }
}
