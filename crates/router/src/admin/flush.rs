use std::sync::Arc;

use http::{Response, StatusCode, Uri, request};
use plimsoll_wire::Engine;
use serde::Serialize;
use tokio::task::JoinSet;

use crate::{RouteError, Router, RouterBody, Worker, answer};

#[derive(Serialize)]
struct Flushed {
    /// Every worker has emptied its cache.
    flushed: bool,
    workers: Vec<Outcome>,
}

/// What came of it at one worker.
#[derive(Serialize)]
struct Outcome {
    url: String,
    role: &'static str,
    flushed: bool,
    /// What the worker answered, if it did.
    status: Option<u16>,
    /// Why its cache is as it was.
    message: Option<String>,
}

/// Has every worker, eligible or not, empty its prefix cache. 200 only if each did, else 502.
pub(crate) async fn flush(router: &Router, parts: request::Parts) -> Response<RouterBody> {
    let (mut tasks, parts) = (JoinSet::new(), Arc::new(parts));
    for (index, worker) in router.cluster().workers().iter().cloned().enumerate() {
        let (router, parts) = (router.clone(), parts.clone());
        tasks.spawn(async move { (index, Outcome::of(&router, &worker, &parts).await) });
    }
    let mut outcomes = tasks.join_all().await;
    outcomes.sort_unstable_by_key(|(index, _)| *index);
    let workers: Vec<_> = outcomes.into_iter().map(|(_, outcome)| outcome).collect();
    let flushed = workers.iter().all(|outcome| outcome.flushed);
    let status = if flushed { StatusCode::OK } else { StatusCode::BAD_GATEWAY };
    answer::json_of(status, &Flushed { flushed, workers })
}

// === impl Outcome ===

impl Outcome {
    async fn of(router: &Router, worker: &Arc<Worker>, parts: &request::Parts) -> Self {
        let (status, message) = match ask(router, worker, parts).await {
            Ok(status) if status.is_success() => (Some(status), None),
            Ok(status) => (Some(status), Some(format!("it answered {status}"))),
            Err(error) => (None, Some(error.to_string())),
        };
        Self {
            url: worker.url().to_string(),
            role: worker.role().as_str(),
            flushed: message.is_none(),
            status: status.map(|status| status.as_u16()),
            message,
        }
    }
}

async fn ask(
    router: &Router,
    worker: &Arc<Worker>,
    parts: &request::Parts,
) -> Result<StatusCode, RouteError> {
    let mut parts = parts.clone();
    // vLLM has it under another name, if it was started with VLLM_SERVER_DEV_MODE=1.
    if worker.engine() == Some(Engine::Vllm) {
        parts.uri = Uri::from_static("/reset_prefix_cache");
    }
    Ok(router.ask(worker, &parts).await?.status())
}
