//! Workers that are found as pods of Kubernetes: those with the labels of a role that are ready.
//!
//! What counts is the list that the API server gives. A watch only says when to ask for the list
//! again, and where it says nothing it is asked for twice a minute: so a change whose event is lost
//! heals by itself, and a watch that breaks or goes silent costs time, not workers.

use std::{
    error::Error,
    net::{IpAddr, SocketAddr},
    pin::pin,
    sync::Arc,
    time::Duration,
};

use futures_util::{StreamExt, stream::SelectAll};
use k8s_openapi::api::core::v1::Pod;
use kube::{
    Api, Client, Config,
    api::{ListParams, WatchEvent, WatchParams},
    config::InferConfigError,
};
use plimsoll_router::Cluster;
use plimsoll_wire::{Backend, Role};
use tokio::time::{Instant, interval, sleep_until, timeout};

use super::found::{Found, Trouble};
use crate::flags::Pods;

/// The longest time between two lists, and the least; in trouble, the longest and the first pause.
const EVERY: Duration = Duration::from_secs(30);
const LEAST: Duration = Duration::from_secs(1);

/// How often a worker that could not be taken in is tried again.
const AGAIN: Duration = Duration::from_secs(5);

/// How long a list may take.
const PATIENCE: Duration = Duration::from_secs(10);

/// The version that a watch was to begin with is forgotten.
const GONE: u16 = 410;

/// Where SGLang's router looks for the bootstrap port of a prefill engine.
const BOOTSTRAP_PORT: &str = "sglang.ai/bootstrap-port";

/// Why there is no word on pods.
#[derive(Debug, thiserror::Error)]
pub(crate) enum PodsError {
    /// Neither a kubeconfig nor a service account.
    #[error("cannot find an API server: {0}")]
    NoConfig(#[from] InferConfigError),
    /// What was found cannot be used.
    #[error("cannot talk to the API server: {}", cause(.0))]
    Client(kube::Error),
    /// No list.
    #[error("cannot list pods: {}", cause(.0))]
    List(kube::Error),
    /// No list in time.
    #[error("cannot list pods: no answer within {} s", PATIENCE.as_secs())]
    Silence,
    /// The API server has lists, but no watch.
    #[error("cannot watch pods, so that changes are seen late: {0}")]
    Watch(String),
}

/// The pods of an API server.
#[derive(Clone, Debug)]
pub(super) struct Source {
    api: Api<Pod>,
    pods: Pods,
}

/// The workers that came of it.
#[derive(Debug, Default)]
struct Kept {
    found: Found,
    /// With single pods.
    trouble: Trouble,
}

/// What the API server says now.
#[derive(Debug, Default)]
struct Listed {
    workers: Vec<Backend>,
    /// The versions of the lists, in the order of the selectors.
    versions: Vec<String>,
    /// What is wrong with a pod.
    trouble: Option<String>,
}

/// The workers that there are now, and what is wrong with a pod.
pub(crate) async fn find(pods: &Pods) -> Result<(Vec<Backend>, Option<String>), PodsError> {
    let listed = Source::new(pods.clone()).await?.list().await?;
    Ok((listed.workers, listed.trouble))
}

// === impl Source ===

impl Source {
    /// Finds the API server as `kubectl` does: by the kubeconfig, or by the service account of the
    /// pod that this runs in. Whether it answers is not asked.
    pub(super) async fn new(pods: Pods) -> Result<Self, PodsError> {
        let config = Config::infer().await?;
        Ok(Self::of(Client::try_from(config).map_err(PodsError::Client)?, pods))
    }

    fn of(client: Client, pods: Pods) -> Self {
        let api = match &pods.namespace {
            Some(namespace) => Api::namespaced(client, namespace),
            None => Api::all(client),
        };
        Self { api, pods }
    }

    /// Keeps the workers as the API server says, until the task is dropped. While it says nothing
    /// they stay: their probes tell who is gone.
    pub(super) async fn follow(self, cluster: Arc<Cluster>) {
        let (mut kept, mut trouble, mut wait) = (Kept::default(), Trouble::default(), LEAST);
        loop {
            let began = Instant::now();
            match Box::pin(self.round(&cluster, &mut kept)).await {
                Ok(()) => {
                    trouble.is(None);
                    wait = LEAST;
                    sleep_until(began + wait).await;
                }
                Err(error) => {
                    let workers = kept.found.count();
                    trouble.is(Some(format!("{error}; the {workers} workers of pods stay")));
                    sleep_until(began + wait).await;
                    wait = (wait * 2).min(EVERY);
                }
            }
        }
    }

    /// One list, and what holds until the next.
    async fn round(&self, cluster: &Cluster, kept: &mut Kept) -> Result<(), PodsError> {
        let listed = self.list().await?;
        let mut change = pin!(timeout(EVERY, self.change(&listed.versions)));
        let mut ticks = interval(AGAIN);
        loop {
            tokio::select! {
                biased;
                _ = ticks.tick() => {
                    let left_out = kept.found.adopt(cluster, &listed.workers);
                    kept.trouble.is(left_out.or_else(|| listed.trouble.clone()));
                }
                changed = &mut change => return changed.unwrap_or(Ok(())),
            }
        }
    }

    async fn list(&self) -> Result<Listed, PodsError> {
        let mut listed = Listed::default();
        for (role, selector) in &self.pods.selectors {
            let params = ListParams::default().labels(selector);
            let list = timeout(PATIENCE, self.api.list(&params)).await;
            let list = list.map_err(|_| PodsError::Silence)?.map_err(PodsError::List)?;
            for pod in &list.items {
                listed.take(pod, *role, self.pods.port);
            }
            listed.versions.push(list.metadata.resource_version.unwrap_or_default());
        }
        Ok(listed)
    }

    /// Waits until the lists of these versions are not what the API server would say now, or until
    /// that is not known any more. Fails if the API server does not take the question.
    async fn change(&self, versions: &[String]) -> Result<(), PodsError> {
        let mut events = SelectAll::new();
        for ((_, selector), version) in self.pods.selectors.iter().zip(versions) {
            let params = WatchParams::default().labels(selector).disable_bookmarks();
            let params = params.timeout(EVERY.as_secs() as u32);
            match self.api.watch(&params, version).await {
                Ok(watch) => events.push(watch.boxed()),
                Err(error) => {
                    tracing::debug!("a watch of pods did not begin: {}", cause(&error));
                    return Ok(());
                }
            }
        }
        match events.next().await {
            Some(Err(kube::Error::Api(refusal)) | Ok(WatchEvent::Error(refusal)))
                if refusal.code != GONE =>
            {
                Err(PodsError::Watch(refusal.message))
            }
            Some(Err(error)) => {
                tracing::debug!("a watch of pods broke: {}", cause(&error));
                Ok(())
            }
            Some(Ok(_)) | None => Ok(()),
        }
    }
}

// === impl Listed ===

impl Listed {
    fn take(&mut self, pod: &Pod, role: Role, port: u16) {
        let Some(ip) = ready_ip(pod) else { return };
        let url = format!("http://{}", SocketAddr::new(ip, port)).into();
        let name = pod.metadata.name.as_deref().unwrap_or_default();
        if let Some(first) = self.workers.iter().find(|worker| worker.url == url) {
            if first.role != role {
                let first = first.role;
                self.trouble = Some(format!("pod {name} is {first} and {role}: {first} counts"));
            }
            return;
        }
        let bootstrap_port = match (role, bootstrap_port(pod)) {
            (Role::Prefill, Some(Ok(port))) => Some(port),
            (Role::Prefill, Some(Err(wrong))) => {
                self.trouble = Some(format!("pod {name}: {BOOTSTRAP_PORT} is no port: {wrong:?}"));
                None
            }
            _ => None,
        };
        self.workers.push(Backend { url, role, bootstrap_port });
    }
}

/// Where a pod is, if it is there to serve.
fn ready_ip(pod: &Pod) -> Option<IpAddr> {
    let status = pod.status.as_ref()?;
    let is_ready = status
        .conditions
        .iter()
        .flatten()
        .any(|condition| condition.type_ == "Ready" && condition.status == "True");
    let stays = pod.metadata.deletion_timestamp.is_none();
    let serves = is_ready && stays && status.phase.as_deref() == Some("Running");
    status.pod_ip.as_deref().filter(|_| serves)?.parse().ok()
}

/// The bootstrap port that a pod says, or what it says instead.
fn bootstrap_port(pod: &Pod) -> Option<Result<u16, &str>> {
    let text = pod.metadata.annotations.as_ref()?.get(BOOTSTRAP_PORT)?;
    Some(text.parse().ok().filter(|port| *port > 0).ok_or(text))
}

/// What is at the bottom of an error.
fn cause(error: &kube::Error) -> String {
    if let kube::Error::Api(refusal) = error {
        return refusal.message.clone();
    }
    let mut cause: &dyn Error = error;
    while let Some(deeper) = cause.source() {
        cause = deeper;
    }
    cause.to_string()
}

#[cfg(test)]
mod tests;
