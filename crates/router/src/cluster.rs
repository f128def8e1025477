use std::{collections::HashSet, sync::Arc};

use arc_swap::ArcSwap;
use http::HeaderValue;
use plimsoll_wire::Role;
use tokio::task::JoinSet;

use crate::{
    RouteError, RouterConfig, Worker,
    client::Client,
    room::Rooms,
    workers::{self, Model, Policy, RoundRobin},
};

/// What is one for the whole process: the workers and what is known of them.
#[derive(Debug)]
pub struct Cluster {
    config: RouterConfig,
    workers: Vec<Arc<Worker>>,
    policies: [Box<dyn Policy>; ROLES.len()],
    rooms: Rooms,
    /// The names of all models that a worker serves or has served.
    served: ArcSwap<HashSet<Arc<str>>>,
}

const ROLES: [Role; 3] = [Role::Prefill, Role::Decode, Role::Plain];

// === impl Cluster ===

impl Cluster {
    /// The cluster of the configured workers, none of them up yet. A worker whose URL is none is
    /// left out, with a line in the log.
    pub fn new(config: RouterConfig) -> Arc<Self> {
        let workers = config.workers.iter().filter_map(|backend| {
            let worker = Worker::new(backend.clone());
            if worker.is_none() {
                tracing::error!("'{}' is not the base URL of a worker", backend.url);
            }
            worker.map(Arc::new)
        });
        Arc::new(Self {
            workers: workers.collect(),
            config,
            policies: ROLES.map(|_| Box::<RoundRobin>::default() as Box<dyn Policy>),
            rooms: Rooms::new(),
            served: ArcSwap::default(),
        })
    }

    /// Starts to probe the workers, on the runtime that this is called on, until the set is dropped.
    #[must_use]
    pub fn probe(self: &Arc<Self>) -> JoinSet<()> {
        let client = Client::new(self.config.connect_timeout);
        let mut probes = JoinSet::new();
        for worker in &self.workers {
            probes.spawn(workers::probe(self.clone(), worker.clone(), client.clone()));
        }
        probes
    }

    /// The workers, in the order of the configuration.
    pub fn workers(&self) -> &[Arc<Worker>] {
        &self.workers
    }

    /// The largest request body that is served, in bytes.
    pub fn max_body(&self) -> u64 {
        self.config.max_body
    }

    /// The roles that a request needs: prefill and decode, or plain.
    pub fn needed_roles(&self) -> &'static [Role] {
        if self.is_paired() { &ROLES[..2] } else { &ROLES[2..] }
    }

    /// The first needed role that has no eligible worker.
    pub fn missing_role(&self) -> Option<Role> {
        let roles = self.needed_roles().iter().copied();
        roles.into_iter().find(|&role| self.eligible(role).next().is_none())
    }

    pub(crate) fn config(&self) -> &RouterConfig {
        &self.config
    }

    pub(crate) fn rooms(&self) -> &Rooms {
        &self.rooms
    }

    /// Requests go to prefill/decode pairs.
    pub(crate) fn is_paired(&self) -> bool {
        self.workers.iter().any(|worker| worker.role() != Role::Plain)
    }

    pub(crate) fn worker_authorization(&self) -> Option<&HeaderValue> {
        let RouterConfig { worker_authorization, authorization, .. } = &self.config;
        worker_authorization.as_ref().or(authorization.as_ref())
    }

    pub(crate) fn eligible(&self, role: Role) -> impl Iterator<Item = &Arc<Worker>> {
        self.workers.iter().filter(move |worker| worker.role() == role && worker.is_up())
    }

    /// A worker of the role, by its policy.
    pub(crate) fn pick(&self, role: Role) -> Result<Arc<Worker>, RouteError> {
        let eligible: Vec<_> = self.eligible(role).collect();
        let picked = self.policies[role as usize].pick(&eligible);
        picked.map(|index| eligible[index].clone()).ok_or(RouteError::NoWorker(role))
    }

    /// The model, if a worker serves it or has served it. A request that names none means the only
    /// one that there is.
    pub(crate) fn served_model(&self, model: Option<&str>) -> Option<Arc<str>> {
        let served = self.served.load();
        match model {
            Some(model) => served.get(model).cloned(),
            None if served.len() == 1 => served.iter().next().cloned(),
            None => None,
        }
    }

    pub(crate) fn remember_models(&self, models: &[Model]) {
        self.served.rcu(|served| {
            let mut served = HashSet::clone(served);
            served.extend(models.iter().map(|model| model.id.clone()));
            served
        });
    }
}
