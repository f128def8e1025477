use std::{fs, time::Duration};

use benches::{CONTENT_EVENTS, traffic};
use bytes::Bytes;
use tokio::runtime;

use crate::{
    BoxError,
    client::{self, Plan},
    engine::{self, Engines},
    proxies::Proxy,
};

/// Requests of one kind.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Load {
    pub(crate) name: &'static str,
    clients: usize,
    kind: Kind,
    /// Of those proxies that choose.
    pub(crate) workers: usize,
}

#[derive(Clone, Copy, Debug)]
enum Kind {
    /// JSON answers to requests of about so many bytes.
    Answers { request: usize },
    /// Streams whose content events are so many ms apart.
    Streams { pace: u64 },
}

/// About the size of a short question.
const SMALL: usize = 100;

const ONE_REQUEST: Load = Load::answers("", 1, SMALL);

pub(crate) const LOADS: [Load; 6] = [
    Load::answers("requests_1", 1, SMALL),
    Load::answers("requests_32", 32, SMALL),
    Load::answers("requests_128", 128, SMALL),
    Load::streams("paced_64", 64, 10),
    Load::streams("unpaced_64", 64, 0),
    Load::answers("prompts_1mb", 4, 1_000_000),
];

/// What can grow. However many streams are open, 6,400 events a second come in all; the most that are
/// open fit a limit of 20,000 files.
pub(crate) const GROWTH: [(&str, &[Load]); 3] = [
    (
        "prompts",
        &[
            Load::answers("1kb", 4, 1_000),
            Load::answers("10kb", 4, 10_000),
            Load::answers("100kb", 4, 100_000),
            Load::answers("1mb", 4, 1_000_000),
            Load::answers("16mb", 4, 16_000_000),
        ],
    ),
    (
        "streams",
        &[
            Load::streams("64", 64, 10),
            Load::streams("500", 500, 78),
            Load::streams("2000", 2_000, 312),
            Load::streams("4900", 4_900, 766),
        ],
    ),
    (
        "workers",
        &[
            Load::answers("2", 32, SMALL).over(2),
            Load::answers("100", 32, SMALL).over(100),
            Load::answers("1000", 32, SMALL).over(1_000),
        ],
    ),
];

/// Files that are open whatever the load is, idle connections among them.
const FILES: usize = 300;

// === impl Load ===

impl Load {
    const fn answers(name: &'static str, clients: usize, request: usize) -> Self {
        Self { name, clients, kind: Kind::Answers { request }, workers: 1 }
    }

    const fn streams(name: &'static str, clients: usize, pace: u64) -> Self {
        Self { name, clients, kind: Kind::Streams { pace }, workers: 1 }
    }

    const fn over(self, workers: usize) -> Self {
        Self { workers, ..self }
    }

    /// Why it cannot be made, if so.
    pub(crate) fn missing(&self) -> Option<String> {
        // A stream has four, the ends of two connections. A worker listens twice, as prefill and as
        // decode, and has a connection to each serving thread.
        let needed = FILES + 4 * self.clients + 10 * self.workers;
        let limits = fs::read_to_string("/proc/self/limits").ok()?;
        let limit = limits.lines().find_map(|line| line.strip_prefix("Max open files"));
        let limit = limit.and_then(|limits| limits.split_whitespace().next()?.parse().ok());
        let is_low = limit.is_some_and(|limit: usize| limit < needed);
        is_low.then(|| format!("it needs {needed} open files (ulimit -n)"))
    }

    /// Puts it on a proxy that is started for it, and gives the CPU time that the proxy took, in µs for
    /// each request or content event.
    pub(crate) fn measure(
        &self,
        proxy: &Proxy,
        engines: &Engines,
        time: Duration,
    ) -> Result<f64, BoxError> {
        let proxy = (proxy.start)(engines, self.workers)?;
        // One each time: with it, all connections end.
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            client::wait_for(proxy.address(), ONE_REQUEST.plan()).await?;
            let took = client::measure(&*proxy, self.plan(), time).await?;
            Ok(match self.kind {
                Kind::Answers { .. } => took,
                Kind::Streams { .. } => took / CONTENT_EVENTS as f64,
            })
        })
    }

    fn plan(&self) -> Plan {
        let (request, pace, expected) = match self.kind {
            Kind::Answers { request } => {
                let request = traffic::chat_request_for_an_answer(request);
                (request, None, Bytes::from_static(traffic::ANSWER))
            }
            Kind::Streams { pace } => {
                (traffic::chat_request_for_counts(SMALL), Some(pace), engine::content())
            }
        };
        Plan { clients: self.clients, request, pace, expected }
    }
}
