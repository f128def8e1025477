//! The metrics that follow a worker's life, written when the page is.

use std::{fmt::Write, sync::Arc};

use plimsoll::PageSource;
use plimsoll_router::{AttemptResult, Cluster, RetryReason, WAIT_BOUNDS, Worker};

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

    fn write_to(&self, page: &mut String) -> std::fmt::Result {
        let workers = self.0.workers();
        let name = "plimsoll_attempts_total";
        writeln!(page, "# HELP {name} Legs of requests by worker and by how they ended.")?;
        writeln!(page, "# TYPE {name} counter")?;
        for worker in workers.iter() {
            for result in AttemptResult::ALL {
                let (labels, count) = (labels(worker), worker.attempts(result));
                writeln!(page, "{name}{{{labels},result=\"{}\"}} {count}", result.as_str())?;
            }
        }
        for (name, help, value) in GAUGES {
            writeln!(page, "\n# HELP {name} {help}\n# TYPE {name} gauge")?;
            for worker in workers.iter() {
                writeln!(page, "{name}{{{}}} {}", labels(worker), value(worker))?;
            }
        }
        self.write_queue_to(page)?;
        let name = "plimsoll_retries_total";
        writeln!(page, "\n# HELP {name} Requests tried again, by why.\n# TYPE {name} counter")?;
        for reason in RetryReason::ALL {
            let count = self.0.retries().count(reason);
            writeln!(page, "{name}{{reason=\"{}\"}} {count}", reason.as_str())?;
        }
        let name = "plimsoll_build_info";
        writeln!(page, "\n# HELP {name} The version that runs.\n# TYPE {name} gauge")?;
        writeln!(page, "{name}{{version=\"{}\"}} 1\n", env!("CARGO_PKG_VERSION"))
    }

    fn write_queue_to(&self, page: &mut String) -> std::fmt::Result {
        let name = "plimsoll_queue_depth";
        writeln!(page, "\n# HELP {name} Requests that wait for room.\n# TYPE {name} gauge")?;
        writeln!(page, "{name} {}", self.0.queue_depth())?;
        let name = "plimsoll_queue_wait_seconds";
        let help = "Time that requests have waited for room, those that gave up included.";
        writeln!(page, "\n# HELP {name} {help}\n# TYPE {name} histogram")?;
        let (waits, mut total) = (self.0.queue_waits(), 0);
        let bounds = WAIT_BOUNDS.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
        for (bound, count) in bounds.zip(waits.counts()) {
            total += count;
            writeln!(page, "{name}_bucket{{le=\"{bound}\"}} {total}")?;
        }
        writeln!(page, "{name}_sum {}\n{name}_count {total}", waits.sum().as_secs_f64())
    }
}

/// A worker's URL was checked when it came: it holds nothing to escape.
fn labels(worker: &Worker) -> String {
    format!("worker=\"{}\",role=\"{}\"", worker.url(), worker.role())
}

impl PageSource for WorkerMetrics {
    fn write(&self, page: &mut String) {
        // Writing to a string cannot fail.
        let _ = self.write_to(page);
    }
}
