//! The task of one worker.

use std::{sync::Arc, time::Duration};

use http::Uri;
use plimsoll_wire::Backend;
use tokio::time::{self, Instant, MissedTickBehavior};

use super::{ScrapeConfig, Target, about::About, board::Seat, pages::Pages, sglang::Loads};
use crate::{
    Facts, Identity, Page, Queue, Reading, Source, State, Trends, WorkerReading, counters::Window,
    fetch::Fetch, page::MAX_NAME, signal::Signal,
};

/// Reads one worker. Nothing of it runs twice at a time.
#[derive(Debug)]
pub(super) struct Poller {
    backend: Backend,
    interval: Duration,
    timeout: Duration,
    fetch: Fetch,
    /// `None` if there is no telling where they are.
    pages: Option<Pages>,
    about: About,
    loads: Loads,
    window: Window,
    seat: Seat,
    latest: WorkerReading,
    logged: State,
}

// === impl Poller ===

impl Poller {
    pub(super) fn new(target: Target, seat: Seat, config: &ScrapeConfig, fetch: Fetch) -> Self {
        let Target { backend, metrics_urls } = target;
        let pages = if metrics_urls.is_empty() {
            let url = format!("{}/metrics", backend.url.trim_end_matches('/'));
            Pages::new([url.as_str()].into_iter())
        } else {
            Pages::new(metrics_urls.iter().map(String::as_str))
        };
        Self {
            latest: WorkerReading::pending(Arc::clone(&backend.url), backend.role),
            logged: State::Pending,
            interval: config.interval,
            timeout: config.timeout,
            about: About::default(),
            loads: Loads::default(),
            window: Window::default(),
            backend,
            fetch,
            pages,
            seat,
        }
    }

    /// Reads the worker until the task is aborted.
    pub(super) async fn run(mut self) {
        time::sleep(self.interval.mul_f64(fastrand::f64())).await;
        let mut ticks = time::interval(self.interval);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            ticks.tick().await;
            self.scrape().await;
        }
    }

    async fn scrape(&mut self) {
        let begin = Instant::now();
        let deadline = begin + self.timeout;
        let page = match &mut self.pages {
            Some(pages) => pages.read(&self.fetch, deadline).await,
            None => Err(State::Malformed),
        };
        let read_at = Instant::now();
        let failure = match page {
            Ok(page) => self.read(page, None, (read_at, deadline)).await,
            Err(State::Disabled) => {
                self.read(Page::default(), Some(State::Disabled), (read_at, deadline)).await
            }
            Err(state) => Some(state),
        };
        match failure {
            // It may come back as another.
            Some(State::Unreachable) => self.forget(),
            Some(State::Timeout | State::Unauthorized) => {}
            _ => self.identify(),
        }
        self.publish(failure, begin.elapsed());
    }

    /// Makes a reading of a page, and of what else the engine answers if the page does not say it
    /// all. Without a page there is a reading only if something else answers; else there is the
    /// reason why not.
    async fn read(
        &mut self,
        mut page: Page,
        no_page: Option<State>,
        (read_at, deadline): (Instant, Instant),
    ) -> Option<State> {
        let counts = std::mem::take(&mut page.counts);
        if no_page.is_none() && self.window.push(read_at, counts) {
            self.forget();
        }
        let known = page.engine.or(self.latest.identity.engine);
        self.about.refresh(&self.backend.url, known, &self.fetch, deadline).await;
        let mut facts = self.about.facts();
        facts.data_ranks = facts.data_ranks.or(self.latest.identity.data_ranks);
        let mut reading = Reading::of(&page, &facts);
        let state = no_page.unwrap_or(reading.state);
        let mut sources = Vec::from_iter(no_page.is_none().then_some(Source::Metrics));
        let may_be_sglang = matches!(known, None | Some("sglang"));
        if may_be_sglang
            && (wants_more(state) || reading.pools.iter().any(|pool| !pool.has_usage()))
        {
            let blank = page.only_rank().is_none() && reading.pools.is_empty();
            let from = (&self.fetch, &*self.backend.url);
            sources.extend(self.loads.supply(&mut page, from, (&facts, deadline)).await);
            if blank && facts.rank_capacity.is_some() {
                page.expect(facts.data_ranks.unwrap_or(1));
            }
            reading = Reading::of(&page, &facts);
        }
        if page.lacks_capacity() && facts.rank_capacity.is_some() && may_be_sglang {
            sources.push(Source::ServerInfo);
        }
        sources.sort_unstable();
        self.latest.discarded += page.discarded;
        self.remember(&page, &facts);
        if no_page.is_some() && sources.is_empty() {
            return no_page;
        }
        self.latest.trends = if no_page.is_none() { self.trends(&page) } else { Trends::default() };
        reading.state = state;
        self.keep_own_queues(&mut reading);
        self.latest.state = state;
        self.latest.reading = Some(reading);
        self.latest.sources = sources;
        self.latest.read_at = Some(read_at);
        None
    }

    /// The engine begins anew, perhaps as another.
    fn forget(&mut self) {
        self.about.forget();
        self.loads.forget();
    }

    /// SGLang writes 0 for the queues of the roles that it does not have.
    fn keep_own_queues(&self, reading: &mut Reading) {
        for queue in Queue::ALL.into_iter().filter(|queue| !queue.is_of(self.backend.role)) {
            reading.queued[queue as usize] = None;
        }
    }

    /// What counters say, or where there are none the gauges of the last transfer: 0 before the first.
    fn trends(&self, page: &Page) -> Trends {
        let gauge = |signal| page.highest(signal).filter(|&value| value > 0.0);
        let trends = self.window.trends(self.backend.role);
        let speed = trends.transfer_bytes_per_second;
        let time = trends.transfer_seconds;
        Trends {
            transfer_bytes_per_second: speed.or_else(|| gauge(Signal::TransferSpeed)),
            transfer_seconds: time.or_else(|| gauge(Signal::TransferTime)),
            ..trends
        }
    }

    fn remember(&mut self, page: &Page, facts: &Facts) {
        let identity = &mut self.latest.identity;
        identity.engine = page.engine.or(identity.engine);
        identity.engine_model = page.model.clone().or_else(|| identity.engine_model.take());
        // The most ever seen: a node of several that is gone leaves the sums, not what is expected.
        identity.data_ranks = facts.data_ranks.or(page.named_ranks().max(identity.data_ranks));
    }

    /// Takes up what the worker says that it is.
    fn identify(&mut self) {
        let identity = &mut self.latest.identity;
        self.latest.model.clone_from(&self.about.model);
        let info = self.about.info.as_ref();
        let mismatch = info.and_then(|info| info.mismatch(&self.backend));
        if let Some(mismatch) = mismatch.filter(|_| mismatch != self.latest.mismatch) {
            let Backend { url, role, .. } = &self.backend;
            tracing::warn!("{role} worker {url}: {mismatch}");
        }
        self.latest.mismatch = mismatch;
        identity.engine = identity.engine.or(info.map(|_| "sglang"));
        identity.tensor_ranks = info.and_then(|info| info.tp_size);
        let version = info.and_then(|info| info.version.as_ref());
        let version = version.or(self.about.version.as_ref()).or(self.loads.version.as_ref());
        identity.version = version.filter(|version| version.len() <= MAX_NAME).cloned();
    }

    fn publish(&mut self, failure: Option<State>, took: Duration) {
        if let Some(state) = failure.filter(|_| self.latest.reading.is_none()) {
            self.latest.state = state;
        }
        self.latest.scrape_duration = Some(took);
        self.latest.scrapes[failure.unwrap_or(self.latest.state) as usize] += 1;
        let shown = self.seat.put(Arc::new(self.latest.clone()), failure);
        if shown.reading.is_none() {
            self.latest = WorkerReading::clone(&shown);
            if failure == Some(State::Unreachable) {
                self.latest.identity = Identity::default();
                self.latest.mismatch = None;
                self.window = Window::default();
            }
        }
        if shown.state != self.logged {
            self.log(shown.state);
            self.logged = shown.state;
        }
    }

    fn log(&self, state: State) {
        let Backend { url: worker, role, .. } = &self.backend;
        match (state, state.hint()) {
            (State::Ok, _) => tracing::info!("the KV cache of {role} worker {worker} is read"),
            (State::CapacityOnly, hint) => {
                tracing::info!("reading {role} worker {worker}: capacity_only: {hint}");
            }
            (state, hint) => {
                tracing::warn!("reading {role} worker {worker}: {state}: {hint}");
            }
        }
    }
}

/// Something else than the page may say more.
fn wants_more(state: State) -> bool {
    matches!(state, State::Disabled | State::CapacityOnly | State::NoKvMetric | State::Empty)
}

/// The place of another page of a worker.
pub(super) fn endpoint(worker: &str, path: &str) -> Option<Uri> {
    format!("{}{path}", worker.trim_end_matches('/')).parse().ok()
}
