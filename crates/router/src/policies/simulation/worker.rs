use std::collections::{HashMap, VecDeque};

use super::load::{BLOCK, Request};

/// What all workers of a fleet are like.
#[derive(Clone, Copy, Debug)]
pub(super) struct Model {
    /// Tokens that requests can hold at once.
    pub(super) capacity: usize,
    /// Tokens of prompts that are read a second, one request after the other.
    pub(super) prefill_rate: f64,
    /// Blocks of prompts already read that are kept.
    pub(super) cache_blocks: usize,
}

/// One engine. Requests hold tokens until they end; without room for its prompt one waits, with all
/// after it, and one whose answer finds no room is put back.
#[derive(Debug)]
pub(super) struct Worker {
    model: Model,
    running: Vec<Job>,
    waiting: VecDeque<Job>,
    /// When each block that is kept was last used.
    cache: HashMap<u64, u64>,
    uses: u64,
}

/// One request here.
#[derive(Debug)]
pub(super) struct Job {
    pub(super) request: usize,
    /// Tokens of the prompt that are not read yet.
    unread: f64,
    prompt: usize,
    answer: f64,
    written: f64,
}

/// What happened in one step.
#[derive(Debug, Default)]
pub(super) struct Step {
    /// Requests whose first token came.
    pub(super) begun: Vec<usize>,
    pub(super) ended: Vec<usize>,
    /// There was no room for what should have run.
    pub(super) is_over: bool,
}

// === impl Worker ===

impl Worker {
    pub(super) fn new(model: Model) -> Self {
        Self {
            model,
            running: Vec::new(),
            waiting: VecDeque::new(),
            cache: HashMap::new(),
            uses: 0,
        }
    }

    pub(super) fn in_flight(&self) -> usize {
        self.running.len() + self.waiting.len()
    }

    /// Share of the cache that running requests hold.
    pub(super) fn usage(&self) -> f64 {
        self.used() as f64 / self.model.capacity as f64
    }

    /// Share that those that wait would hold too.
    pub(super) fn demand(&self) -> f64 {
        let waiting: usize = self.waiting.iter().map(Job::held).sum();
        (self.used() + waiting) as f64 / self.model.capacity as f64
    }

    /// Takes a request; tells how many tokens of its prompt need not be read.
    pub(super) fn take(&mut self, number: usize, request: &Request) -> usize {
        let known = request.prompt.iter().take_while(|block| self.cache.contains_key(*block));
        let known = known.count() * BLOCK;
        let prompt = request.prompt.len() * BLOCK;
        let answer = request.answer as f64;
        let unread = (prompt - known) as f64;
        self.waiting.push_back(Job { request: number, unread, prompt, answer, written: 0.0 });
        self.keep(&request.prompt);
        known
    }

    /// Goes on for so many seconds.
    pub(super) fn step(&mut self, seconds: f64) -> Step {
        let mut step = Step::default();
        while let Some(job) = self.waiting.pop_front() {
            if self.used() + job.held() > self.model.capacity {
                self.waiting.push_front(job);
                step.is_over = true;
                break;
            }
            self.running.push(job);
        }
        let token_time = 0.010 + 0.020 * self.usage();
        let mut to_read = self.model.prefill_rate * seconds;
        for job in &mut self.running {
            if job.unread > 0.0 {
                let read = to_read.min(job.unread);
                (job.unread, to_read) = (job.unread - read, to_read - read);
                if job.unread == 0.0 && job.written == 0.0 {
                    step.begun.push(job.request);
                }
            } else {
                job.written += seconds / token_time;
            }
        }
        self.running.retain(|job| {
            let goes_on = job.written < job.answer;
            step.ended.extend((!goes_on).then_some(job.request));
            goes_on
        });
        self.put_back(&mut step);
        step
    }

    /// Puts those back that came last, until the others have room.
    fn put_back(&mut self, step: &mut Step) {
        while self.used() > self.model.capacity {
            let Some(mut job) = self.running.pop() else { return };
            step.is_over = true;
            job.unread = job.held() as f64;
            self.waiting.push_front(job);
        }
    }

    fn used(&self) -> usize {
        self.running.iter().map(Job::held).sum()
    }

    /// Keeps these blocks, and forgets a quarter of all if they are too many.
    fn keep(&mut self, blocks: &[u64]) {
        if self.model.cache_blocks == 0 {
            return;
        }
        self.uses += 1;
        self.cache.extend(blocks.iter().map(|&block| (block, self.uses)));
        if self.cache.len() > self.model.cache_blocks {
            let mut uses: Vec<_> = self.cache.values().copied().collect();
            uses.sort_unstable();
            let oldest_kept = uses[self.cache.len() - self.model.cache_blocks / 4 * 3];
            self.cache.retain(|_, used| *used >= oldest_kept);
        }
    }
}

// === impl Job ===

impl Job {
    fn held(&self) -> usize {
        self.prompt + self.written as usize
    }
}
