//! What is one for the whole process.

mod choose;
mod fit;
mod live;
mod retries;
mod tend;
#[cfg(test)]
mod tests;

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex, OnceLock, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use arc_swap::ArcSwap;
use http::HeaderValue;
use plimsoll_wire::{Backend, Role};
use tokio::{sync::watch, task::JoinSet};
use tokio_util::task::TaskTracker;

pub(crate) use self::choose::{Team, Wanted};
use self::live::{LiveSet, Workers};
pub use self::retries::{Retries, RetryReason};
use crate::{
    AdminError, LoadSource, QueueWaits, RouterConfig, Worker,
    admission::{Gate, Vacancies},
    policies::{self, Policy},
    room::Rooms,
    workers::{Address, AddressError, Model},
};

/// How many models are remembered in all: workers may list others each time that they are asked.
const MAX_SERVED: usize = 4096;

/// What is one for the whole process: the workers and what is known of them.
#[derive(Debug)]
pub struct Cluster {
    config: RouterConfig,
    live: LiveSet,
    policies: [Box<dyn Policy>; ROLES.len()],
    gate: Arc<Gate>,
    vacancies: Arc<Vacancies>,
    /// Where the load of a worker is known.
    loads: OnceLock<Arc<dyn LoadSource>>,
    /// The workers differ in what they say they are.
    mixed: AtomicBool,
    /// Held while they are compared: what was found last stands.
    comparing: Mutex<()>,
    retries: Retries,
    rooms: Rooms,
    /// The names of all models that a worker serves or has served.
    served: ArcSwap<HashSet<Arc<str>>>,
    /// The legs of prefill that run on though their requests have been answered.
    tails: TaskTracker,
}

/// What became of a worker that was to go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Removal {
    /// Its legs run on; it gets no new ones, and goes with the last of them or with the end of the
    /// grace period.
    Draining,
    /// It had none, and is gone.
    Removed,
}

const ROLES: [Role; 3] = [Role::Prefill, Role::Decode, Role::Plain];

// === impl Cluster ===

impl Cluster {
    /// The cluster of the configured workers, none of them up yet. A worker that cannot be added is
    /// left out, with a line in the log.
    pub fn new(mut config: RouterConfig) -> Arc<Self> {
        let workers = std::mem::take(&mut config.workers);
        // Whoever prints a head of ours does not print the key.
        for key in [&mut config.authorization, &mut config.worker_authorization] {
            key.iter_mut().for_each(|key| key.set_sensitive(true));
        }
        let (kinds, vacancies) = (config.policies, Arc::<Vacancies>::default());
        let cluster = Self {
            live: LiveSet::new(),
            policies: ROLES
                .map(|role| policies::build(kinds.of(role), role.as_str(), &kinds.affinity)),
            gate: Arc::new(Gate::new(config.admission, vacancies.clone())),
            config,
            vacancies,
            loads: OnceLock::new(),
            mixed: AtomicBool::new(false),
            comparing: Mutex::default(),
            retries: Retries::default(),
            rooms: Rooms::new(),
            served: ArcSwap::default(),
            tails: TaskTracker::new(),
        };
        for backend in workers {
            if let Err(error) = cluster.take_in(backend) {
                tracing::error!("a worker is left out: {error}");
            }
        }
        Arc::new(cluster)
    }

    /// Starts to probe the workers, on the runtime that this is called on, until the set is dropped.
    /// Workers that come later are probed as soon as they come, and those that are to go leave: both
    /// only while this runs.
    #[must_use]
    pub fn probe(self: &Arc<Self>) -> JoinSet<()> {
        let mut tasks = JoinSet::new();
        tasks.spawn(tend::tend_all(self.clone()));
        tasks
    }

    /// The workers that there are now, in the order in which they came.
    pub fn workers(&self) -> Arc<Vec<Arc<Worker>>> {
        self.live.get()
    }

    /// The version of the set of workers: it grows each time that one has come or gone. For those
    /// who follow the set; see [`workers`](Self::workers).
    pub fn changes(&self) -> watch::Receiver<u64> {
        self.live.changes()
    }

    /// Takes a worker in. It gets requests once a probe of it has succeeded.
    ///
    /// # Errors
    ///
    /// If its URL is none, if it is there already, or if its role does not fit the mode.
    pub fn add(&self, backend: Backend) -> Result<Arc<Worker>, AdminError> {
        let worker = self.take_in(backend)?;
        tracing::info!("{} worker {} was added", worker.role(), worker.url());
        Ok(worker)
    }

    /// Gives a worker no more requests, and takes it out of the set once those that it has are
    /// answered, or after [`RouterConfig::drain_grace_period`]. Those that run on then are not cut
    /// off, only no longer shown.
    ///
    /// # Errors
    ///
    /// If there is no such worker, or if the URL holds a password.
    pub fn remove(&self, url: &str) -> Result<(Arc<Worker>, Removal), AdminError> {
        let address = match Address::read(url) {
            // Not even to who sent it: errors get into logs.
            Err(error @ AddressError::UserInfo(_)) => return Err(error.into()),
            address => address.ok(),
        };
        let worker = address.and_then(|address| self.live.find(&address));
        let worker = worker.ok_or_else(|| AdminError::Unknown { url: url.to_owned() })?;
        worker.drain(self.config.drain_grace_period);
        if worker.in_flight() == 0 {
            self.let_go(&worker);
            return Ok((worker, Removal::Removed));
        }
        tracing::info!("{} worker {} is draining", worker.role(), worker.url());
        Ok((worker, Removal::Draining))
    }

    /// From here on, the load of workers is asked of `loads`; the first such word stands.
    pub fn read_loads_from(&self, loads: Arc<dyn LoadSource>) {
        let _ = self.loads.set(loads);
    }

    /// Ends all requests, each when its future or its body is polled next: by an error, so that
    /// clients learn of it. For the end of the process.
    pub fn cut_off(&self) {
        self.gate.cut().give();
    }

    /// Waits until no answered request is counted any more: of a pair's, prefill's reply may end after
    /// the answer, by 2 s at most. For the end of the process, once no request runs.
    pub async fn settled(&self) {
        self.tails.close();
        self.tails.wait().await;
    }

    /// Requests that wait for room.
    pub fn queue_depth(&self) -> usize {
        self.gate.waiting()
    }

    /// How long requests have waited for room.
    pub fn queue_waits(&self) -> &QueueWaits {
        self.gate.waits()
    }

    /// Requests that were tried again.
    pub fn retries(&self) -> &Retries {
        &self.retries
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
    pub(crate) fn missing_role(&self) -> Option<Role> {
        let live = self.live.look();
        let mut roles = self.needed_roles().iter().copied();
        roles.find(|&role| eligible(&live, role).next().is_none())
    }

    pub(crate) fn config(&self) -> &RouterConfig {
        &self.config
    }

    pub(crate) fn tails(&self) -> &TaskTracker {
        &self.tails
    }

    pub(crate) fn rooms(&self) -> &Rooms {
        &self.rooms
    }

    /// Requests go to prefill/decode pairs.
    pub(crate) fn is_paired(&self) -> bool {
        self.config.paired
    }

    pub(crate) fn worker_authorization(&self) -> Option<&HeaderValue> {
        let RouterConfig { worker_authorization, authorization, .. } = &self.config;
        worker_authorization.as_ref().or(authorization.as_ref())
    }

    /// The eligible workers of the needed roles, role after role.
    pub(crate) fn all_eligible(&self) -> Vec<Arc<Worker>> {
        let live = self.live.look();
        let roles = self.needed_roles().iter();
        roles.flat_map(|&role| eligible(&live, role)).cloned().collect()
    }

    pub(crate) fn gate(&self) -> &Arc<Gate> {
        &self.gate
    }

    /// The workers differ in what they serve, or in what they are.
    pub(crate) fn is_mixed(&self) -> bool {
        self.mixed.load(Ordering::Relaxed)
    }

    /// Each needed role has an eligible worker that is none of these.
    pub(crate) fn has_others(&self, tried: &[Arc<str>]) -> bool {
        let live = self.live.look();
        let has_other = |&role| eligible(&live, role).any(|worker| !tried.contains(worker.url()));
        self.needed_roles().iter().all(has_other)
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

    /// A worker has said what it is.
    pub(crate) fn note_worker(&self, worker: &Worker) {
        self.compare_workers();
        self.remember_models(&worker.models());
    }

    fn compare_workers(&self) {
        let _comparing = self.comparing.lock().unwrap_or_else(PoisonError::into_inner);
        self.mixed.store(fit::are_mixed(&self.live.look()), Ordering::Relaxed);
    }

    fn remember_models(&self, models: &[Model]) {
        self.served.rcu(|known| {
            let mut served = HashSet::clone(known);
            let new =
                models.iter().map(|model| &model.id).filter(|id| !known.contains(*id)).cloned();
            let room = MAX_SERVED.saturating_sub(served.len());
            served.extend(new.take(room));
            served
        });
    }

    fn take_in(&self, backend: Backend) -> Result<Arc<Worker>, AdminError> {
        let role = backend.role;
        if !self.needed_roles().contains(&role) {
            return Err(AdminError::Role { role, paired: self.config.paired });
        }
        if backend.bootstrap_port.is_some() && role != Role::Prefill {
            return Err(AdminError::BootstrapPort { role });
        }
        let worker = Arc::new(Worker::new(backend, &self.config, &self.vacancies)?);
        match self.live.add(&worker) {
            Ok(()) => Ok(worker),
            Err(present) => {
                let (url, draining) = (present.url().to_string(), present.is_draining());
                Err(AdminError::Present { url, draining })
            }
        }
    }

    /// Takes a worker that is to go out of the set. A request that has just chosen it is served all
    /// the same: it holds the worker itself.
    fn let_go(&self, worker: &Arc<Worker>) {
        if self.live.remove(worker) {
            self.compare_workers();
            let (role, url, left) = (worker.role(), worker.url(), worker.in_flight());
            match left {
                0 => tracing::info!("{role} worker {url} was removed"),
                _ => tracing::warn!("{role} worker {url} was removed; {left} requests run on"),
            }
        }
    }
}

fn eligible(live: &Workers, role: Role) -> impl Iterator<Item = &Arc<Worker>> {
    live.iter().filter(move |worker| worker.role() == role && worker.is_eligible())
}
