//! Whether a worker serves, asked again and again.

use std::{sync::Arc, time::Duration};

use http::{HeaderValue, Request, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use plimsoll_wire::Engine;
use tokio::time::{self, Instant};

use super::{Model, Worker};
use crate::{
    client::{Client, Reuse},
    cluster::Cluster,
    error::LegError,
};

/// The largest answer of a worker about itself that is read: 4 MiB.
const MAX_BODY: usize = 4 << 20;

/// Why a probe failed.
#[derive(Debug, thiserror::Error)]
enum ProbeError {
    #[error("it did not answer within {} s", .0.as_secs_f64())]
    Timeout(Duration),
    #[error("it answered {0}")]
    Status(StatusCode),
    #[error("it {0}")]
    Leg(#[from] LegError),
    #[error("its answer cannot be read: {0}")]
    Body(Box<dyn std::error::Error + Send + Sync>),
}

/// How the last probes went.
#[derive(Debug)]
struct Tally {
    started: Instant,
    ever_up: bool,
    /// It took too long to come up, and the log says so.
    is_late: bool,
    good: u32,
    bad: u32,
}

/// Probes one worker until the task is dropped.
pub(crate) async fn probe(cluster: Arc<Cluster>, worker: Arc<Worker>, client: Client) {
    let health = &cluster.config().health;
    worker.set_up(health.disabled);
    let mut tally = Tally::new();
    loop {
        let answer = if health.disabled { Ok(()) } else { ask(&cluster, &worker, &client).await };
        let (answers, is_known) = (answer.is_ok(), worker.is_up() && !worker.models().is_empty());
        // Who comes up is known before the first request; of the others news can wait.
        if answers && !is_known {
            learn(&cluster, &worker, &client).await;
        }
        tally.count(answer, &worker, &cluster);
        if answers && is_known {
            learn(&cluster, &worker, &client).await;
        }
        let has_told = !health.disabled || !worker.models().is_empty();
        let settled = tally.is_late || (tally.ever_up && has_told);
        time::sleep(if settled { health.interval } else { health.first_interval }).await;
    }
}

// === impl Tally ===

impl Tally {
    fn new() -> Self {
        Self { started: Instant::now(), ever_up: false, is_late: false, good: 0, bad: 0 }
    }

    /// Takes an answer into account, and says in the log what it changed.
    fn count(&mut self, answer: Result<(), ProbeError>, worker: &Worker, cluster: &Cluster) {
        if !cluster.config().health.disabled {
            worker.note_probe(answer.is_ok());
        }
        match answer {
            Ok(()) => self.succeed(worker, cluster),
            Err(error) => self.fail(&error, worker, cluster),
        }
    }

    fn succeed(&mut self, worker: &Worker, cluster: &Cluster) {
        let wanted = cluster.config().health.success_threshold;
        (self.good, self.bad) = (self.good.saturating_add(1), 0);
        let enough = !self.ever_up || self.good >= wanted;
        if enough && (!worker.is_up() || !self.ever_up) {
            tracing::info!("{} worker {} is up", worker.role(), worker.url());
            worker.set_up(true);
            self.ever_up = true;
        } else if !worker.is_up() {
            let good = self.good;
            worker.set_down_reason(format!("its probes succeed again: {good} of {wanted}"));
        }
    }

    fn fail(&mut self, error: &ProbeError, worker: &Worker, cluster: &Cluster) {
        let health = &cluster.config().health;
        let (role, url) = (worker.role(), worker.url());
        (self.good, self.bad) = (0, self.bad.saturating_add(1));
        worker.set_down_reason(format!("its probes fail: {error}"));
        if !self.ever_up && self.bad == 1 {
            tracing::warn!("{role} worker {url} is not up yet: {error}");
        } else if worker.is_up() && self.bad >= health.failure_threshold {
            tracing::warn!("{role} worker {url} is down: {error}");
            worker.set_up(false);
        }
        let patience = health.startup_timeout;
        if !self.ever_up && !self.is_late && self.started.elapsed() >= patience {
            let secs = patience.as_secs();
            tracing::error!("{role} worker {url} has not come up within {secs} s: {error}");
            self.is_late = true;
        }
    }
}

async fn ask(cluster: &Cluster, worker: &Arc<Worker>, client: &Client) -> Result<(), ProbeError> {
    get(cluster, worker, client, &cluster.config().health.endpoint).await.map(drop)
}

/// Asks a worker what it serves, and what it is. It may have come back as another, or have taken a
/// model in.
async fn learn(cluster: &Cluster, worker: &Arc<Worker>, client: &Client) {
    let listing = get(cluster, worker, client, "/v1/models").await;
    let models =
        listing.and_then(|body| Model::list(&body).map_err(|error| ProbeError::Body(error.into())));
    match models {
        Ok(models) => {
            let ids = |model: &Model| model.id.clone();
            let has_same = worker.models().iter().map(ids).eq(models.iter().map(ids));
            if worker.engine().is_some() && worker.is_up() && has_same {
                // What it says of them may be new.
                worker.set_models(models);
                return;
            }
            let mut engine = models.iter().find_map(|model| model.engine);
            if engine.is_none() {
                engine = engine_by_routes(cluster, worker, client).await;
            }
            worker.set_engine(engine);
            worker.set_models(models);
            cluster.note_worker(worker);
        }
        Err(error) => tracing::debug!("{} does not say what it serves: {error}", worker.url()),
    }
}

/// The engine that has routes which others lack.
async fn engine_by_routes(
    cluster: &Cluster,
    worker: &Arc<Worker>,
    client: &Client,
) -> Option<Engine> {
    for (route, engine) in [("/get_server_info", Engine::Sglang), ("/version", Engine::Vllm)] {
        if get(cluster, worker, client, route).await.is_ok() {
            return Some(engine);
        }
    }
    None
}

/// The body of a 2xx answer, within the probe's time limit.
async fn get(
    cluster: &Cluster,
    worker: &Arc<Worker>,
    client: &Client,
    path: &str,
) -> Result<bytes::Bytes, ProbeError> {
    let timeout = cluster.config().health.timeout;
    let mut request = Request::new(Full::default());
    *request.uri_mut() = path.parse().unwrap_or_default();
    if let Some(key) = cluster.worker_authorization() {
        request.headers_mut().insert(header::AUTHORIZATION, HeaderValue::clone(key));
    }
    let answer = async {
        let response = client.send(worker, request, Reuse::Allowed).await?;
        if !response.status().is_success() {
            return Err(ProbeError::Status(response.status()));
        }
        let body = Limited::new(response.into_body(), MAX_BODY).collect().await;
        body.map(http_body_util::Collected::to_bytes).map_err(ProbeError::Body)
    };
    time::timeout(timeout, answer).await.unwrap_or(Err(ProbeError::Timeout(timeout)))
}
