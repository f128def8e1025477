//! One data-parallel rank: its KV pool, who waits for room in it, and its stage counts.

mod activity;
mod pool;
mod prefix;
#[cfg(test)]
mod tests;

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::sync::Notify;

use self::pool::{Held, Pool};
pub(crate) use self::{activity::Activity, prefix::BLOCK};
use crate::{metrics::Tally, sync::lock, text::Token};

/// Queues only a prefill/decode pair has.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Stage {
    /// Prefill: waits for decode to come for its room.
    Bootstrap,
    /// Prefill: computed, decode has not fetched it yet. Holds KV.
    Inflight,
    /// Decode: waits for KV room.
    Prealloc,
    /// Decode: waits for prefill's hand-over. Holds KV.
    Transfer,
}

/// A data-parallel rank.
#[derive(Debug)]
pub(crate) struct Rank {
    max_holders: usize,
    state: Mutex<State>,
    stages: [AtomicU64; 4],
    /// What vLLM counts by rank; SGLang's counts of finished requests have none.
    pub(crate) tally: Mutex<Tally>,
}

#[derive(Debug)]
struct State {
    pool: Pool,
    activity: Activity,
    /// Requests waiting for room, first come first served.
    waiting: VecDeque<Arc<Notify>>,
}

/// Sizes and counts of a rank at one moment, in tokens and requests.
#[derive(Debug, Clone, Copy)]
pub(crate) struct RankView {
    pub(crate) used: u64,
    pub(crate) evictable: u64,
    pub(crate) available: u64,
    pub(crate) running: u64,
    pub(crate) waiting: u64,
    pub(crate) bootstrap: u64,
    pub(crate) inflight: u64,
    pub(crate) prealloc: u64,
    pub(crate) transfer: u64,
    pub(crate) activity: Activity,
}

// === impl Rank ===

impl Rank {
    /// A rank of `capacity` tokens for at most `max_holders` requests at once; `caching` keeps
    /// the prefixes of finished requests.
    pub(crate) fn new(capacity: u64, max_holders: usize, caching: bool) -> Self {
        let (pool, activity) = (Pool::new(capacity, caching), Activity::new());
        let state = Mutex::new(State { pool, activity, waiting: VecDeque::new() });
        let (stages, tally) = Default::default();
        Self { max_holders: max_holders.max(1), state, stages, tally }
    }

    /// Waits for room for a prompt and up to `max_new` more tokens.
    pub(crate) async fn admit(self: &Arc<Self>, prompt: &[Token], max_new: u32) -> Lease {
        let ticket = {
            let mut state = lock(&self.state);
            if state.waiting.is_empty() {
                if let Some(held) = self.try_admit(&mut state, prompt, max_new) {
                    return self.lease(held, prompt);
                }
            }
            let turn = Arc::new(Notify::new());
            state.waiting.push_back(Arc::clone(&turn));
            Ticket { rank: self, turn }
        };
        loop {
            ticket.turn.notified().await;
            let mut state = lock(&self.state);
            if ticket.is_first(&state) {
                if let Some(held) = self.try_admit(&mut state, prompt, max_new) {
                    return self.lease(held, prompt);
                }
            }
        }
    }

    /// Counts a request in a stage until the guard drops.
    pub(crate) fn enter(&self, stage: Stage) -> InStage<'_> {
        let count = &self.stages[stage as usize];
        count.fetch_add(1, Ordering::Relaxed);
        InStage(count)
    }

    pub(crate) fn view(&self) -> RankView {
        let state = lock(&self.state);
        let stage = |stage: Stage| self.stages[stage as usize].load(Ordering::Relaxed);
        let (inflight, transfer) = (stage(Stage::Inflight), stage(Stage::Transfer));
        let (waiting, prealloc) = (state.waiting.len() as u64, stage(Stage::Prealloc));
        RankView {
            used: state.pool.used(),
            evictable: state.pool.evictable(),
            available: state.pool.available(),
            running: (state.pool.holders as u64).saturating_sub(inflight + transfer),
            waiting: waiting.saturating_sub(prealloc),
            bootstrap: stage(Stage::Bootstrap),
            inflight,
            prealloc,
            transfer,
            activity: state.activity,
        }
    }

    /// Empties the prefix cache, unless a request is in work.
    pub(crate) fn flush(&self) {
        let mut state = lock(&self.state);
        if state.pool.holders == 0 && state.waiting.is_empty() {
            state.pool.flush();
        }
    }

    fn try_admit(&self, state: &mut State, prompt: &[Token], max_new: u32) -> Option<Held> {
        let fits = state.pool.holders < self.max_holders;
        fits.then(|| state.pool.admit(prompt, u64::from(max_new))).flatten()
    }

    fn lease(self: &Arc<Self>, held: Held, prompt: &[Token]) -> Lease {
        Lease { rank: Arc::clone(self), held, tokens: prompt.to_vec() }
    }
}

/// A place in the queue for room; leaving it lets the next one try.
struct Ticket<'a> {
    rank: &'a Rank,
    turn: Arc<Notify>,
}

// === impl Ticket ===

impl Ticket<'_> {
    fn is_first(&self, state: &State) -> bool {
        state.waiting.front().is_some_and(|first| Arc::ptr_eq(first, &self.turn))
    }
}

impl Drop for Ticket<'_> {
    fn drop(&mut self) {
        let mut state = lock(&self.rank.state);
        state.waiting.retain(|turn| !Arc::ptr_eq(turn, &self.turn));
        state.wake_first();
    }
}

// === impl State ===

impl State {
    fn wake_first(&self) {
        if let Some(first) = self.waiting.front() {
            first.notify_one();
        }
    }
}

/// A request counted in a stage.
#[derive(Debug)]
pub(crate) struct InStage<'a>(&'a AtomicU64);

// === impl InStage ===

impl Drop for InStage<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// KV room of one request; dropping it gives the room back.
#[derive(Debug)]
pub(crate) struct Lease {
    rank: Arc<Rank>,
    held: Held,
    tokens: Vec<Token>,
}

// === impl Lease ===

impl Lease {
    /// Prompt tokens found in the cache.
    pub(crate) fn cached(&self) -> u64 {
        self.held.cached()
    }

    /// Notes that the prompt has been computed here.
    pub(crate) fn prefilled(&self) {
        let prompt = self.tokens.len() as u64;
        lock(&self.rank.state).activity.prefilled(prompt, self.cached());
    }

    /// Notes that the prompt's KV, beyond what was cached here, came from a prefill engine.
    pub(crate) fn fetched(&self) {
        let prompt = self.tokens.len() as u64;
        lock(&self.rank.state).activity.fetched(prompt, self.cached());
    }

    /// Notes that the request has run, while its KV stays.
    pub(crate) fn park(&mut self) {
        let mut state = lock(&self.rank.state);
        state.pool.park(&mut self.held);
        state.wake_first();
    }

    /// Notes that the KV was kept for nobody.
    pub(crate) fn expired(&self) {
        lock(&self.rank.tally).expired();
    }

    /// Tokens of prompt and answer.
    pub(crate) fn len(&self) -> u64 {
        self.tokens.len() as u64
    }

    /// Adds a generated token.
    pub(crate) fn push(&mut self, token: Token) {
        let mut state = lock(&self.rank.state);
        state.pool.grow(&mut self.held);
        state.activity.generated();
        self.tokens.push(token);
    }
}

impl Drop for Lease {
    fn drop(&mut self) {
        let mut state = lock(&self.rank.state);
        state.pool.release(&self.held, &self.tokens);
        state.wake_first();
    }
}
