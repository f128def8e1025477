//! One prompt on its way through an engine.

mod nixl;
mod rooms;

use std::sync::Arc;

use plimsoll_wire::{Engine as Kind, Role};
use tokio::time::{Duration, Instant, sleep, sleep_until};

use crate::{
    api::{problem::Problem, rooms::Meeting},
    clock,
    metrics::{Ending, Finished},
    rank::{Lease, Rank},
    state::Engine,
    sync::lock,
    text::{Token, Writer},
};

/// What is to be done with one prompt.
#[derive(Debug)]
pub(crate) struct Task {
    /// Request id, 32 hex digits.
    pub(crate) rid: String,
    pub(crate) prompt: Vec<Token>,
    /// Which of `n` answers to the prompt this is.
    pub(crate) sample: u32,
    /// Tokens to generate.
    pub(crate) max_new: u32,
    /// Their number is the engine's choice, so the answer ends by itself.
    pub(crate) ends_itself: bool,
    pub(crate) stream: bool,
    pub(crate) meeting: Meeting,
}

/// Wall-clock times of a request, in seconds since 1970.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Times {
    pub(crate) received: f64,
    pub(crate) forward: f64,
    pub(crate) prefilled: f64,
    pub(crate) first_token: f64,
    pub(crate) finished: f64,
}

/// A prompt at work: first [`start`](Sequence::start), then [`step`](Sequence::step) to the end.
#[derive(Debug)]
pub(crate) struct Sequence {
    engine: Arc<Engine>,
    pub(crate) task: Task,
    /// Tokens generated so far.
    pub(crate) output: Vec<Token>,
    /// Text generated so far.
    pub(crate) text: String,
    /// Prompt tokens found in a cache; on decode, in prefill's.
    pub(crate) cached: u64,
    pub(crate) times: Times,
    /// The data-parallel rank, where there is more than one.
    pub(crate) dp_rank: Option<usize>,
    /// vLLM prefill: numbers of the blocks kept for decode.
    pub(crate) kept_blocks: Option<Vec<u64>>,
    rank: Arc<Rank>,
    lease: Option<Lease>,
    writer: Writer,
    received: Instant,
    due: Instant,
    first_token_after: Duration,
    failed: bool,
}

// === impl Sequence ===

impl Sequence {
    pub(crate) fn new(engine: Arc<Engine>, task: Task) -> Self {
        let (turn, rank) = engine.pick_rank();
        let now = Instant::now();
        Self {
            output: Vec::new(),
            text: String::new(),
            cached: 0,
            times: Times { received: clock::unix(), ..Times::default() },
            dp_rank: (engine.ranks.len() > 1).then_some(turn),
            kept_blocks: None,
            rank,
            lease: None,
            writer: Writer::new(&task.prompt, task.sample),
            received: now,
            due: now,
            first_token_after: Duration::ZERO,
            failed: false,
            engine,
            task,
        }
    }

    /// Whether the last token has been generated.
    pub(crate) fn is_done(&self) -> bool {
        self.output.len() >= self.task.max_new as usize
    }

    /// Does what comes before the first token: meeting the other half of the pair, waiting for
    /// KV room, computing the prompt.
    pub(crate) async fn start(&mut self) -> Result<(), Problem> {
        let started = match (self.engine.config.engine, self.engine.config.role) {
            (Kind::Vllm, _) => self.obtain().await,
            (Kind::Sglang, Role::Prefill) => self.prefill_and_hand_over().await,
            (Kind::Sglang, Role::Decode) => self.take_over().await,
            (Kind::Sglang, Role::Plain) => {
                self.prefill().await;
                Ok(())
            }
        };
        self.failed = started.is_err();
        self.due = Instant::now();
        started
    }

    /// Generates the next token and gives its text; `None` at the end.
    ///
    /// With the last token the request counts as finished and its KV room is free again.
    pub(crate) async fn step(&mut self) -> Option<&'static str> {
        if self.is_done() {
            self.finish();
            return None;
        }
        let interval = self.engine.config.token_interval;
        if !interval.is_zero() && !self.output.is_empty() {
            self.due += interval;
            sleep_until(self.due).await;
        }
        let (token, word) = self.writer.word(self.output.len() as u32);
        if self.output.is_empty() {
            self.times.first_token = clock::unix();
            self.first_token_after = self.received.elapsed();
        }
        if let Some(lease) = &mut self.lease {
            lease.push(token);
        }
        self.output.push(token);
        self.text.push_str(word);
        if self.is_done() {
            self.finish();
        }
        Some(word)
    }

    async fn prefill(&mut self) {
        let lease = self.rank.admit(&self.task.prompt, self.task.max_new).await;
        self.times.forward = clock::unix();
        self.cached = lease.cached();
        let config = &self.engine.config;
        let uncached = self.task.prompt.len() as u64 - self.cached;
        let mut time = config.time_to_first_token;
        if config.prefill_rate > 0 {
            time += Duration::from_secs_f64(uncached as f64 / config.prefill_rate as f64);
        }
        if !time.is_zero() {
            sleep(time).await;
        }
        lease.prefilled();
        self.times.prefilled = clock::unix();
        self.lease = Some(lease);
    }

    fn finish(&mut self) {
        if self.times.finished > 0.0 {
            return;
        }
        self.times.finished = clock::unix();
        if let Some(lease) = self.lease.take() {
            self.keep(lease);
        }
        let finished = Finished {
            stream: self.task.stream,
            prompt: self.task.prompt.len() as u64,
            generated: self.output.len() as u64,
            cached: self.cached,
            first_token_after: self.first_token_after,
            finished_after: self.received.elapsed(),
        };
        match self.engine.config.engine {
            Kind::Sglang => lock(&self.engine.served).add(&finished),
            Kind::Vllm => {
                let ending = if self.task.ends_itself { Ending::Stop } else { Ending::Length };
                lock(&self.rank.tally).finished(&finished, ending);
            }
        }
        self.engine.totals.send_modify(|totals| {
            totals.prompt_tokens += finished.prompt;
            totals.generation_tokens += finished.generated;
        });
    }
}

impl Drop for Sequence {
    fn drop(&mut self) {
        if self.times.finished == 0.0 {
            let failed = self.failed || self.engine.is_dead();
            let ending = if failed { Ending::Error } else { Ending::Abort };
            lock(&self.rank.tally).ended(ending);
        }
    }
}
