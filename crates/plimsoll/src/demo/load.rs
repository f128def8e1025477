//! Requests in numbers.

use std::time::Duration;

use bytes::Bytes;
use tokio::{
    task::JoinSet,
    time::{Instant, MissedTickBehavior, interval, interval_at},
};

use super::{ask::Ask, client::Client, error::RunError, reply::Tokens};

/// Requests that run at the same time.
const AT_ONCE: usize = 16;

/// Time between two requests of the steady load: a bit more than three a second.
const STEADY: Duration = Duration::from_millis(300);

/// Time between two lines about how far it is.
const PROGRESS: Duration = Duration::from_secs(3);

/// What the replies state, all together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Replies {
    /// How many there are. Each states its usage.
    pub(super) count: u64,
    pub(super) tokens: Tokens,
}

/// Sends so many requests and adds up what the replies state. The first that fails ends it.
pub(super) async fn send(client: &Client, count: u64) -> Result<Replies, RunError> {
    let mut asks = (0..count).map(Ask::with_usage);
    let mut running: JoinSet<_> =
        asks.by_ref().take(AT_ONCE).map(|ask| one(client.clone(), ask)).collect();
    let mut progress = interval_at(Instant::now() + PROGRESS, PROGRESS);
    let mut replies = Replies::default();
    while !running.is_empty() {
        tokio::select! {
            Some(ended) = running.join_next() => {
                let (ask, reply) = ended??;
                let (number, path) = (ask.number + 1, ask.path());
                let tokens = Tokens::stated(&reply).ok_or(RunError::NoUsage { number, path })?;
                replies.count += 1;
                replies.tokens.add(tokens);
                running.extend(asks.next().map(|ask| one(client.clone(), ask)));
            }
            _ = progress.tick() => eprintln!("{} of {count} requests answered", replies.count),
        }
    }
    Ok(replies)
}

/// Keeps up a steady load. Never returns; failures are logged, the first of each row.
pub(super) async fn keep_up(client: &Client) {
    let mut asks = (0..).map(Ask::as_usual);
    let mut running = JoinSet::new();
    let mut failing = false;
    let mut ticks = interval(STEADY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = ticks.tick() => {
                let next = asks.next().filter(|_| running.len() < AT_ONCE);
                running.extend(next.map(|ask| one(client.clone(), ask)));
            }
            Some(ended) = running.join_next() => {
                let outcome = ended.map_err(RunError::from).and_then(|outcome| outcome);
                if let (Err(error), false) = (&outcome, failing) {
                    tracing::warn!("{error}");
                }
                failing = outcome.is_err();
            }
        }
    }
}

async fn one(client: Client, ask: Ask) -> Result<(Ask, Bytes), RunError> {
    let (number, path) = (ask.number + 1, ask.path());
    let reply = client.send(ask).await;
    reply.map(|reply| (ask, reply)).map_err(|source| RunError::Request { number, path, source })
}
