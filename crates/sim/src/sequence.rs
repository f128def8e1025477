//! One prompt on its way through an engine.

use std::sync::Arc;

use plimsoll_wire::Role;
use tokio::time::{Duration, Instant, sleep, sleep_until, timeout_at};

use crate::{
    api::{
        problem::Problem,
        rooms::{Meeting, Room},
    },
    bootstrap::HandOver,
    clock,
    metrics::Finished,
    rank::{Lease, Rank, Stage},
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
    rank: Arc<Rank>,
    lease: Option<Lease>,
    writer: Writer,
    received: Instant,
    due: Instant,
    first_token_after: Duration,
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
            rank,
            lease: None,
            writer: Writer::new(&task.prompt, task.sample),
            received: now,
            due: now,
            first_token_after: Duration::ZERO,
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
        match self.engine.config.role {
            Role::Plain => self.prefill().await,
            Role::Prefill => self.prefill_and_hand_over().await?,
            Role::Decode => self.take_over().await?,
        }
        self.due = Instant::now();
        Ok(())
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

    /// Prefill: the answer is not given before decode has the KV.
    async fn prefill_and_hand_over(&mut self) -> Result<(), Problem> {
        let room = match &self.task.meeting {
            Meeting::In(room) => self.engine.rooms.enter(room.id),
            // Prefill does not notice that the samples share a room.
            Meeting::Shared(_) => {
                self.prefill().await;
                return Ok(());
            }
            Meeting::None => return Err(Problem::no_room(&self.task.rid)),
        };
        let deadline = self.deadline();
        let rank = Arc::clone(&self.rank);
        let waiting = rank.enter(Stage::Bootstrap);
        if timeout_at(deadline, room.decode_came()).await.is_err() {
            return Err(self.timed_out());
        }
        drop(waiting);
        self.prefill().await;
        let _handing_over = rank.enter(Stage::Inflight);
        let result = HandOver { cached_tokens: self.cached };
        if timeout_at(self.deadline(), room.hand_over(result)).await.is_err() {
            return Err(self.timed_out());
        }
        Ok(())
    }

    /// Decode: takes room for the prompt, then waits for prefill to fill it.
    async fn take_over(&mut self) -> Result<(), Problem> {
        if matches!(self.task.meeting, Meeting::None) {
            return Err(Problem::no_room(&self.task.rid));
        }
        let rank = Arc::clone(&self.rank);
        let waiting = rank.enter(Stage::Prealloc);
        let lease = rank.admit(&self.task.prompt, self.task.max_new).await;
        drop(waiting);
        self.lease = Some(lease);
        let _transfer = rank.enter(Stage::Transfer);
        let deadline = self.deadline();
        match &self.task.meeting {
            Meeting::In(Room { host, port, id }) => {
                let fetch = self.engine.peers.fetch(host, *port, *id);
                let Ok(result) = timeout_at(deadline, fetch).await else {
                    return Err(self.timed_out());
                };
                self.cached = result.cached_tokens;
            }
            _ => {
                // The samples share one room, which is spent on the first of them.
                sleep_until(deadline).await;
                return Err(self.timed_out());
            }
        }
        self.times.forward = clock::unix();
        Ok(())
    }

    fn deadline(&self) -> Instant {
        Instant::now() + self.engine.config.bootstrap_timeout
    }

    fn timed_out(&self) -> Problem {
        let config = &self.engine.config;
        let room = self.task.meeting.room_id();
        Problem::timed_out(config.role, &self.task.rid, room, config.bootstrap_timeout)
    }

    fn finish(&mut self) {
        if self.times.finished > 0.0 {
            return;
        }
        self.times.finished = clock::unix();
        self.lease = None;
        let finished = Finished {
            stream: self.task.stream,
            prompt: self.task.prompt.len() as u64,
            generated: self.output.len() as u64,
            cached: self.cached,
            first_token_after: self.first_token_after,
            finished_after: self.received.elapsed(),
        };
        lock(&self.engine.served).add(&finished);
        self.engine.totals.send_modify(|totals| {
            totals.prompt_tokens += finished.prompt;
            totals.generation_tokens += finished.generated;
        });
    }
}
