//! Whether a worker serves, asked again and again.

use std::{sync::Arc, time::Duration};

use http::{HeaderValue, Request, StatusCode, header, uri::PathAndQuery};
use http_body_util::{BodyExt, Full, Limited};
use tokio::time;

use super::{Model, Worker};
use crate::{client::Client, cluster::Cluster, error::LegError};

/// Time between probes until a worker first answers.
const FIRST_INTERVAL: Duration = Duration::from_secs(1);

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
#[derive(Debug, Default)]
struct Tally {
    ever_up: bool,
    good: u32,
    bad: u32,
}

/// Probes one worker until the task is dropped.
pub(crate) async fn probe(cluster: Arc<Cluster>, worker: Arc<Worker>, client: Client) {
    let health = &cluster.config().health;
    worker.set_up(health.disabled);
    let mut tally = Tally::default();
    loop {
        let answer = if health.disabled { Ok(()) } else { ask(&cluster, &worker, &client).await };
        if answer.is_ok() && worker.models().is_empty() {
            learn_models(&cluster, &worker, &client).await;
        }
        tally.count(answer, &worker, &cluster);
        let settled = tally.ever_up && (!health.disabled || !worker.models().is_empty());
        time::sleep(if settled { health.interval } else { FIRST_INTERVAL }).await;
    }
}

// === impl Tally ===

impl Tally {
    /// Takes an answer into account, and says in the log what it changed.
    fn count(&mut self, answer: Result<(), ProbeError>, worker: &Worker, cluster: &Cluster) {
        let health = &cluster.config().health;
        let (role, url) = (worker.role(), worker.url());
        match answer {
            Ok(()) => {
                (self.good, self.bad) = (self.good.saturating_add(1), 0);
                let enough = !self.ever_up || self.good >= health.success_threshold;
                if enough && (!worker.is_up() || !self.ever_up) {
                    tracing::info!("{role} worker {url} is up");
                    worker.set_up(true);
                    self.ever_up = true;
                } else if !worker.is_up() {
                    let (good, wanted) = (self.good, health.success_threshold);
                    let reason = format!("its probes succeed again: {good} of {wanted}");
                    worker.set_down_reason(reason);
                }
            }
            Err(error) => {
                (self.good, self.bad) = (0, self.bad.saturating_add(1));
                worker.set_down_reason(format!("its probes fail: {error}"));
                if !self.ever_up && self.bad == 1 {
                    tracing::warn!("{role} worker {url} is not up yet: {error}");
                } else if worker.is_up() && self.bad >= health.failure_threshold {
                    tracing::warn!("{role} worker {url} is down: {error}");
                    worker.set_up(false);
                    // It may come back as another.
                    worker.set_models(Vec::new());
                }
            }
        }
    }
}

async fn ask(cluster: &Cluster, worker: &Arc<Worker>, client: &Client) -> Result<(), ProbeError> {
    get(cluster, worker, client, &cluster.config().health.endpoint).await.map(drop)
}

async fn learn_models(cluster: &Cluster, worker: &Arc<Worker>, client: &Client) {
    let listing = get(cluster, worker, client, "/v1/models").await;
    let models =
        listing.and_then(|body| Model::list(&body).map_err(|error| ProbeError::Body(error.into())));
    match models {
        Ok(models) => {
            cluster.remember_models(&models);
            worker.set_models(models);
        }
        Err(error) => tracing::debug!("{} does not say what it serves: {error}", worker.url()),
    }
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
    let path = PathAndQuery::try_from(path).unwrap_or_else(|_| PathAndQuery::from_static("/"));
    *request.uri_mut() = worker.uri(path);
    if let Some(key) = cluster.worker_authorization() {
        request.headers_mut().insert(header::AUTHORIZATION, HeaderValue::clone(key));
    }
    let answer = async {
        let response = client.request(request).await?;
        if !response.status().is_success() {
            return Err(ProbeError::Status(response.status()));
        }
        let body = Limited::new(response.into_body(), MAX_BODY).collect().await;
        body.map(http_body_util::Collected::to_bytes).map_err(ProbeError::Body)
    };
    time::timeout(timeout, answer).await.unwrap_or(Err(ProbeError::Timeout(timeout)))
}
