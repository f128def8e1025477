use std::sync::Arc;

use tokio::time::Instant;

use super::{
    load::{BLOCK, Request},
    worker::{Model, Worker},
};
use crate::policies::{Candidate, Hint, Load, Policy, testing::urls};

const WORKERS: usize = 8;
/// Seconds of a step, and steps from one reading of loads to the next.
const STEP: f64 = 0.02;
const READING_STEPS: usize = 50;

/// Workers behind a policy.
#[derive(Debug)]
pub(super) struct Fleet {
    model: Model,
    policy: Box<dyn Policy>,
    urls: Vec<Arc<str>>,
    workers: Vec<Worker>,
    /// What was last read of each worker, and the tokens sent to it since.
    readings: Vec<(f64, u64)>,
    outcome: Outcome,
}

/// How a load was served.
#[derive(Debug, Default)]
pub(super) struct Outcome {
    /// The greatest share of a cache that was held or waited for.
    pub(super) peak: f64,
    /// Seconds in which a worker had no room for what should have run, over all workers.
    pub(super) over: f64,
    /// Mean seconds from a request to its end,
    pub(super) latency: f64,
    /// and to its first token.
    pub(super) first_token: f64,
    /// Share of all prompts' tokens that had not to be read again.
    pub(super) hits: f64,
}

// === impl Fleet ===

impl Fleet {
    pub(super) fn new(model: Model, policy: Box<dyn Policy>) -> Self {
        Self {
            model,
            policy,
            urls: urls(WORKERS),
            workers: (0..WORKERS).map(|_| Worker::new(model)).collect(),
            readings: vec![(0.0, 0); WORKERS],
            outcome: Outcome::default(),
        }
    }

    pub(super) fn serve(mut self, requests: &[Request]) -> Outcome {
        let (mut come, mut ended) = (0, 0);
        for step in 0.. {
            let now = step as f64 * STEP;
            if step % READING_STEPS == 0 {
                self.readings = self.workers.iter().map(|worker| (worker.usage(), 0)).collect();
            }
            while come < requests.len() && requests[come].at <= now {
                self.send(come, &requests[come]);
                come += 1;
            }
            ended += self.step(now + STEP, requests);
            if ended == requests.len() {
                break;
            }
        }
        let Outcome { peak, over, latency, first_token, hits } = self.outcome;
        let count = requests.len() as f64;
        let tokens: usize = requests.iter().map(|request| request.prompt.len() * BLOCK).sum();
        let (latency, first_token) = (latency / count, first_token / count);
        Outcome { peak, over, latency, first_token, hits: hits / tokens as f64 }
    }

    fn send(&mut self, number: usize, request: &Request) {
        let text = request.text();
        let capacity_tokens = Some(self.model.capacity as u64);
        let fleet = self.urls.iter().zip(&self.workers).zip(&self.readings);
        let candidates: Vec<_> = fleet
            .map(|((url, worker), &(usage_ratio, pending_tokens))| Candidate {
                url,
                in_flight: worker.in_flight(),
                load: Some(Load { capacity_tokens, usage_ratio, read_at: Instant::now() }),
                pending_tokens,
            })
            .collect();
        let picked = self.policy.pick(&candidates, &Hint { prompt: &text, session: None }).unwrap();
        self.outcome.hits += self.workers[picked].take(number, request) as f64;
        self.readings[picked].1 += (request.prompt.len() * BLOCK) as u64;
    }

    /// Tells how many requests ended.
    fn step(&mut self, now: f64, requests: &[Request]) -> usize {
        let outcome = &mut self.outcome;
        let mut ended = 0;
        for worker in &mut self.workers {
            outcome.peak = outcome.peak.max(worker.demand());
            let step = worker.step(STEP);
            outcome.over += f64::from(u8::from(step.is_over)) * STEP;
            let age = |&number: &usize| now - requests[number].at;
            outcome.first_token += step.begun.iter().map(age).sum::<f64>();
            outcome.latency += step.ended.iter().map(age).sum::<f64>();
            ended += step.ended.len();
        }
        ended
    }
}
