//! The metrics that follow a worker's life, written when the page is.

use std::{fmt::Write, sync::Arc};

use plimsoll::PageSource;
use plimsoll_router::{AttemptResult, Cluster, Worker};

/// Writes the workers' families.
#[derive(Debug)]
pub(super) struct WorkerMetrics(Arc<Cluster>);

type Value = fn(&Worker) -> usize;

const GAUGES: [(&str, &str, Value); 3] = [
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
        let name = "plimsoll_build_info";
        writeln!(page, "\n# HELP {name} The version that runs.\n# TYPE {name} gauge")?;
        writeln!(page, "{name}{{version=\"{}\"}} 1\n", env!("CARGO_PKG_VERSION"))
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
