//! Who is let in, and who waits.
//!
//! A request that finds no room (too many at a time, too many a second, every worker that could
//! serve it full) waits in one line for the whole process, first come, first served. The one at its
//! front looks again whenever a place becomes free. The line has a length and a patience; beyond
//! both the request is refused.
//!
//! A request that is tried again was let in before. It waits for workers beside the line: those in it
//! may wait for that very request to end.

mod cut;
mod rate;
#[cfg(test)]
mod tests;
mod vacancies;
mod waits;

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::Context,
    time::Duration,
};

use tokio::{
    sync::{Mutex, OwnedSemaphorePermit, Semaphore},
    time::{Instant, sleep, timeout},
};

pub use self::waits::{QueueWaits, WAIT_BOUNDS};
pub(crate) use self::{
    cut::{Cut, End},
    vacancies::Vacancies,
};
use self::{rate::Rate, vacancies::Bell};
use crate::RouteError;

/// How soon the front of the line looks again where nobody tells of what has changed: a worker that
/// has come up, a KV cache that has emptied.
const LOOK_AGAIN: Duration = Duration::from_millis(50);

/// Limits of what is let in.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AdmissionConfig {
    /// Requests at a time, each until its answer's body has ended; `None` for any number.
    pub max_requests: Option<usize>,
    /// Requests let in a second, in bursts of as many; `None` for any number.
    pub rate: Option<u64>,
    /// Requests that may wait (100).
    pub queue_size: usize,
    /// Longest wait (60 s).
    pub queue_timeout: Duration,
    /// Share of a KV cache from which its worker gets no more requests; `None` for never. Of decode
    /// and plain workers.
    pub kv_threshold: Option<f64>,
}

/// Lets requests in.
#[derive(Debug)]
pub(crate) struct Gate {
    config: AdmissionConfig,
    requests: Arc<Semaphore>,
    rate: Option<Rate>,
    vacancies: Arc<Vacancies>,
    /// Held by the front of the line.
    front: Mutex<()>,
    /// Held by one of those who are tried again.
    again: Mutex<()>,
    /// How many stand in line, and how many wait beside it.
    in_line: AtomicUsize,
    beside: AtomicUsize,
    waits: QueueWaits,
    cut: Arc<Cut>,
}

/// What a request holds from when it is let in until its body has ended.
#[derive(Debug)]
pub(crate) struct Ticket {
    permit: Option<OwnedSemaphorePermit>,
    gate: Arc<Gate>,
    end: End,
}

/// Somebody who waits.
struct Waiting<'a> {
    gate: &'a Gate,
    /// Where this one is counted.
    among: &'a AtomicUsize,
    since: Instant,
}

// === impl Gate ===

impl Gate {
    pub(crate) fn new(config: AdmissionConfig, vacancies: Arc<Vacancies>) -> Self {
        let requests = config.max_requests.unwrap_or(Semaphore::MAX_PERMITS);
        Self {
            requests: Arc::new(Semaphore::new(requests.min(Semaphore::MAX_PERMITS))),
            rate: config.rate.map(Rate::new),
            config,
            vacancies,
            front: Mutex::new(()),
            again: Mutex::new(()),
            in_line: AtomicUsize::new(0),
            beside: AtomicUsize::new(0),
            waits: QueueWaits::default(),
            cut: Arc::default(),
        }
    }

    /// The word that requests which are in are to end.
    pub(crate) fn cut(&self) -> &Arc<Cut> {
        &self.cut
    }

    /// Lets a request in once there is room for it and `choose` finds workers with a place for it. One
    /// that `may_pass` need not stand behind those who may wait for other workers than it does.
    ///
    /// # Errors
    ///
    /// What `choose` fails with, at once; else if the line is full or the wait was too long.
    pub(crate) async fn enter<T>(
        self: &Arc<Self>,
        may_pass: bool,
        mut choose: impl FnMut() -> Result<Option<T>, RouteError>,
    ) -> Result<(Ticket, T), RouteError> {
        let mut enter = || self.try_enter(&mut choose);
        if may_pass || self.in_line.load(Ordering::Relaxed) == 0 {
            if let Some(entered) = enter()? {
                return Ok(entered);
            }
        }
        let _waiting = self.stand_in_line()?;
        self.look(&self.front, &self.vacancies.front, enter).await
    }

    /// Waits for workers only: the request was let in before.
    ///
    /// # Errors
    ///
    /// What `choose` fails with, at once; else if the wait was too long.
    pub(crate) async fn wait_for<T>(
        &self,
        mut choose: impl FnMut() -> Result<Option<T>, RouteError>,
    ) -> Result<T, RouteError> {
        if let Some(chosen) = choose()? {
            return Ok(chosen);
        }
        self.beside.fetch_add(1, Ordering::Relaxed);
        let _waiting = self.waits_among(&self.beside);
        self.look(&self.again, &self.vacancies.again, choose).await
    }

    /// Looks until there is something, each in turn.
    async fn look<T>(
        &self,
        turn: &Mutex<()>,
        bell: &Bell,
        mut attempt: impl FnMut() -> Result<Option<T>, RouteError>,
    ) -> Result<T, RouteError> {
        let patience = self.config.queue_timeout;
        let served = async {
            let _turn = turn.lock().await;
            let news = bell.watch();
            loop {
                if let Some(found) = attempt()? {
                    return Ok(found);
                }
                tokio::select! {
                    () = news.next() => {}
                    () = sleep(LOOK_AGAIN) => {}
                }
            }
        };
        timeout(patience, served).await.unwrap_or(Err(RouteError::QueueTimeout(patience)))
    }

    /// Requests that wait.
    pub(crate) fn waiting(&self) -> usize {
        self.in_line.load(Ordering::Relaxed) + self.beside.load(Ordering::Relaxed)
    }

    /// How long requests have waited.
    pub(crate) fn waits(&self) -> &QueueWaits {
        &self.waits
    }

    fn try_enter<T>(
        self: &Arc<Self>,
        choose: impl FnOnce() -> Result<Option<T>, RouteError>,
    ) -> Result<Option<(Ticket, T)>, RouteError> {
        let mut permit = None;
        if self.config.max_requests.is_some() {
            let Ok(free) = self.requests.clone().try_acquire_owned() else { return Ok(None) };
            permit = Some(free);
        }
        if !self.rate.as_ref().is_none_or(Rate::take) {
            return Ok(None);
        }
        let chosen = choose();
        if let (Some(rate), Ok(None) | Err(_)) = (&self.rate, &chosen) {
            rate.give_back();
        }
        Ok(chosen?.map(|chosen| {
            let (gate, end) = (self.clone(), End::new(&self.cut, false));
            (Ticket { permit, gate, end }, chosen)
        }))
    }

    fn stand_in_line(&self) -> Result<Waiting<'_>, RouteError> {
        let most = self.config.queue_size;
        let next = |now| (now < most).then_some(now + 1);
        match self.in_line.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next) {
            Ok(_) => Ok(self.waits_among(&self.in_line)),
            Err(_) => Err(RouteError::Overloaded { waiting: most }),
        }
    }

    fn waits_among<'a>(&'a self, among: &'a AtomicUsize) -> Waiting<'a> {
        Waiting { gate: self, among, since: Instant::now() }
    }
}

// === impl AdmissionConfig ===

impl Default for AdmissionConfig {
    fn default() -> Self {
        Self {
            max_requests: None,
            rate: None,
            queue_size: 100,
            queue_timeout: Duration::from_secs(60),
            kv_threshold: None,
        }
    }
}

// === impl Ticket ===

impl Ticket {
    /// The ticket of a request whose task nobody else wakes for its end.
    pub(crate) fn waking(mut self) -> Self {
        self.end = End::new(&self.gate.cut, true);
        self
    }

    /// Whether the request is to end.
    pub(crate) fn poll_void(&mut self, cx: &mut Context<'_>) -> bool {
        self.end.poll(cx)
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        // The permit goes first: who is told finds it free.
        if self.permit.take().is_some() {
            self.gate.vacancies.tell();
        }
    }
}

// === impl Waiting ===

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.among.fetch_sub(1, Ordering::Relaxed);
        self.gate.waits.note(self.since.elapsed());
    }
}
