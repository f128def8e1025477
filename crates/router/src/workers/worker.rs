use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use arc_swap::{ArcSwap, ArcSwapOption};
use http::{HeaderValue, Uri, uri};
use plimsoll_wire::{Backend, Engine, Role};
use tokio::{
    sync::SetOnce,
    time::{Instant, sleep},
};

use super::{
    AttemptResult, Model,
    address::{Address, AddressError},
    breaker::{Breaker, BreakerState},
};
use crate::{RouterConfig, admission::Vacancies};

/// How often a draining worker is asked whether its last leg has ended. Legs end on other threads;
/// having each of them tell would cost every request.
const DRAIN_CHECK: Duration = Duration::from_millis(50);

/// One worker and what is known of it.
#[derive(Debug)]
pub struct Worker {
    backend: Backend,
    address: Address,
    up: AtomicBool,
    /// Why it is not up, in words; nothing before its first probe has ended.
    down_reason: ArcSwapOption<String>,
    /// Its last probe failed; that alone does not take it out.
    suspect: AtomicBool,
    breaker: Breaker,
    /// Set once it is to go: until when its legs may run on.
    drain_end: SetOnce<Instant>,
    in_flight: AtomicUsize,
    /// Most legs at a time.
    max_in_flight: usize,
    /// Whom to tell of a place that is free again.
    vacancies: Arc<Vacancies>,
    attempts: [AtomicU64; AttemptResult::ALL.len()],
    /// What it said last that it serves.
    models: ArcSwap<Vec<Model>>,
    /// What it is, once it has said so.
    engine: ArcSwapOption<Engine>,
    tokens: SentTokens,
}

/// Tokens sent to a worker that its last reading cannot know of.
#[derive(Debug, Default)]
struct SentTokens {
    all: AtomicU64,
    /// The last reading, and how many had been sent when it was first seen.
    at_reading: Mutex<Option<(Instant, u64)>>,
}

// === impl Worker ===

impl Worker {
    /// A worker that is not up yet.
    ///
    /// # Errors
    ///
    /// If its URL is none.
    pub(crate) fn new(
        mut backend: Backend,
        config: &RouterConfig,
        vacancies: &Arc<Vacancies>,
    ) -> Result<Self, AddressError> {
        let address = Address::read(&backend.url)?;
        backend.url = address.url.clone();
        Ok(Self {
            max_in_flight: config.max_in_flight.of(backend.role),
            backend,
            address,
            up: AtomicBool::new(false),
            down_reason: ArcSwapOption::empty(),
            suspect: AtomicBool::new(false),
            breaker: Breaker::new(config.breaker),
            drain_end: SetOnce::new(),
            in_flight: AtomicUsize::new(0),
            vacancies: vacancies.clone(),
            attempts: Default::default(),
            models: ArcSwap::default(),
            engine: ArcSwapOption::empty(),
            tokens: SentTokens::default(),
        })
    }

    /// The base URL, as configured.
    pub fn url(&self) -> &Arc<str> {
        &self.backend.url
    }

    /// What it does.
    pub fn role(&self) -> Role {
        self.backend.role
    }

    /// Whether its probes say that it serves.
    pub fn is_up(&self) -> bool {
        self.up.load(Ordering::Relaxed)
    }

    /// It is to go, and gets no more requests.
    pub fn is_draining(&self) -> bool {
        self.drain_end.get().is_some()
    }

    /// Whether it may get requests: it is up, its breaker lets them pass, and it is not draining.
    pub fn is_eligible(&self) -> bool {
        self.is_up() && self.breaker.admits() && !self.is_draining()
    }

    /// Where its breaker stands.
    pub fn breaker_state(&self) -> BreakerState {
        self.breaker.state()
    }

    /// Its failures in a row, as its breaker counts them.
    pub fn consecutive_failures(&self) -> u32 {
        self.breaker.failures()
    }

    /// Its successes in a row, by which its breaker may close.
    pub fn consecutive_successes(&self) -> u32 {
        self.breaker.successes()
    }

    /// Why it gets no requests, in words; `None` if it may.
    pub fn reason(&self) -> Option<String> {
        if self.is_draining() {
            return Some("draining".to_owned());
        }
        if self.is_up() {
            let state = self.breaker.state();
            let failures = self.breaker.failures();
            return (!self.breaker.admits())
                .then(|| format!("its breaker is {} after {failures} failures", state.as_str()));
        }
        let reason = self.down_reason.load();
        Some(reason.as_ref().map_or_else(|| "not probed yet".to_owned(), |why| String::clone(why)))
    }

    /// Legs under way.
    pub fn in_flight(&self) -> usize {
        self.in_flight.load(Ordering::Relaxed)
    }

    /// Legs that have ended so.
    pub fn attempts(&self, result: AttemptResult) -> u64 {
        self.attempts[result as usize].load(Ordering::Relaxed)
    }

    /// What was configured.
    pub fn backend(&self) -> &Backend {
        &self.backend
    }

    pub(crate) fn address(&self) -> &Address {
        &self.address
    }

    pub(crate) fn set_up(&self, up: bool) {
        self.up.store(up, Ordering::Relaxed);
    }

    pub(crate) fn set_down_reason(&self, reason: String) {
        self.down_reason.store(Some(Arc::new(reason)));
    }

    /// Its last probe failed.
    pub(crate) fn is_suspect(&self) -> bool {
        self.suspect.load(Ordering::Relaxed)
    }

    /// A probe has ended.
    pub(crate) fn note_probe(&self, succeeded: bool) {
        self.suspect.store(!succeeded, Ordering::Relaxed);
        if succeeded && self.breaker.probe_succeeded() {
            tracing::info!("{} worker {}: a probe closed its breaker", self.role(), self.url());
        }
    }

    pub(super) fn note_failure(&self, is_trial: bool) {
        if self.breaker.fail(is_trial) {
            tracing::warn!(
                "{} worker {}: its breaker is open after {} failures",
                self.role(),
                self.url(),
                self.breaker.failures()
            );
        }
    }

    pub(super) fn note_success(&self, is_trial: bool) {
        if self.breaker.succeed(is_trial) {
            tracing::info!("{} worker {}: a request closed its breaker", self.role(), self.url());
        }
    }

    pub(super) fn breaker(&self) -> &Breaker {
        &self.breaker
    }

    /// Takes a place for a leg, if there is one.
    pub(super) fn enter(&self) -> bool {
        let next = |now| (now < self.max_in_flight).then_some(now + 1);
        self.in_flight.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).is_ok()
    }

    /// Takes a place, whether there is one or not.
    pub(super) fn enter_beside(&self) {
        self.in_flight.fetch_add(1, Ordering::Relaxed);
    }

    /// Gives the place back.
    pub(super) fn leave(&self) {
        self.in_flight.fetch_sub(1, Ordering::Relaxed);
        self.vacancies.tell();
    }

    /// It has a place for one more leg.
    pub(crate) fn has_place(&self) -> bool {
        self.in_flight() < self.max_in_flight
    }

    /// A leg has ended so.
    pub(super) fn count(&self, result: AttemptResult) {
        self.attempts[result as usize].fetch_add(1, Ordering::Relaxed);
    }

    /// Tokens, by estimate, go to it.
    pub(crate) fn send_tokens(&self, tokens: u64) {
        self.tokens.all.fetch_add(tokens, Ordering::Relaxed);
    }

    /// Tokens sent to it, by estimate, since it was read at `read_at`.
    pub(crate) fn tokens_since(&self, read_at: Instant) -> u64 {
        let sent = self.tokens.all.load(Ordering::Relaxed);
        let mut seen = self.tokens.at_reading.lock().unwrap_or_else(PoisonError::into_inner);
        match *seen {
            // Who has an older reading still counts from the newer one, as everybody soon will.
            Some((at, before)) if at >= read_at => sent.saturating_sub(before),
            _ => {
                *seen = Some((read_at, sent));
                0
            }
        }
    }

    /// The engine that it says it is.
    pub(crate) fn engine(&self) -> Option<Engine> {
        self.engine.load().as_deref().copied()
    }

    pub(crate) fn set_engine(&self, engine: Option<Engine>) {
        self.engine.store(engine.map(Arc::new));
    }

    /// Gives it no more requests; those under way may run on for `grace_period`. The first such
    /// order stands.
    pub(crate) fn drain(&self, grace_period: Duration) {
        // It fails only where an order was there.
        let _ = self.drain_end.set(Instant::now() + grace_period);
    }

    /// Waits until it is to go, and then until it has no leg or the grace period is over.
    pub(crate) async fn drained(&self) {
        let end = *self.drain_end.wait().await;
        while self.in_flight() > 0 && Instant::now() < end {
            sleep(DRAIN_CHECK).await;
        }
    }

    pub(crate) fn models(&self) -> Arc<Vec<Model>> {
        self.models.load_full()
    }

    pub(crate) fn set_models(&self, models: Vec<Model>) {
        self.models.store(Arc::new(models));
    }

    /// The host without the brackets of an IPv6 address, as SGLang's `bootstrap_host` wants it.
    pub(crate) fn host(&self) -> &str {
        self.address.authority.host().trim_start_matches('[').trim_end_matches(']')
    }

    /// Where it is, as the `host` header says it.
    pub(crate) fn authority(&self) -> &HeaderValue {
        &self.address.host
    }

    /// Its base URL, parsed.
    pub(crate) fn base(&self) -> Uri {
        let mut parts = uri::Parts::default();
        parts.scheme = Some(self.address.scheme.clone());
        parts.authority = Some(self.address.authority.clone());
        parts.path_and_query = Some(uri::PathAndQuery::from_static("/"));
        // All three parts are there and were parsed: it cannot fail.
        Uri::from_parts(parts).unwrap_or_default()
    }
}
