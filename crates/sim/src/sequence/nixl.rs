//! vLLM's way of handing a prompt over: prefill keeps it, decode fetches it.

use std::sync::Arc;

use tokio::time::{Instant, timeout};

use super::Sequence;
use crate::{
    api::{problem::Problem, rooms::Meeting},
    bootstrap::nixl::Source,
    clock,
    rank::{Lease, Stage},
    sync::lock,
};

// === impl Sequence ===

impl Sequence {
    /// Comes by the prompt's KV: from a prefill engine where one is named, else by computing it.
    pub(super) async fn obtain(&mut self) -> Result<(), Problem> {
        match self.task.meeting.clone() {
            Meeting::Fetch(source) => self.fetch(&source).await,
            Meeting::Broken => {
                self.engine.die();
                Err(Problem::engine_dead())
            }
            _ => {
                self.prefill().await;
                Ok(())
            }
        }
    }

    /// Decode: takes room for the prompt, then what prefill has kept. What is in decode's own cache
    /// is not told as cached.
    async fn fetch(&mut self, source: &Source) -> Result<(), Problem> {
        let rank = Arc::clone(&self.rank);
        let lease = rank.admit(&self.task.prompt, self.task.max_new).await;
        let transfer = rank.enter(Stage::Transfer);
        let (limit, began) = (self.engine.config.bootstrap_timeout, Instant::now());
        let fetched = timeout(limit, self.engine.peers.fetch(source)).await;
        if !matches!(fetched, Ok(Ok(()))) {
            tracing::debug!(?fetched, ?source, "no KV from prefill");
            lock(&rank.tally).transfer_failed();
            return Err(Problem::internal());
        }
        drop(transfer);
        lock(&rank.tally).transferred(lease.len() - lease.cached(), began.elapsed());
        lease.fetched();
        self.times.forward = clock::unix();
        self.lease = Some(lease);
        Ok(())
    }

    /// At the end: leaves the KV for decode, if that was asked for and the answer may go on.
    pub(super) fn keep(&mut self, lease: Lease) {
        if let (Meeting::Keep(id), false) = (&self.task.meeting, self.task.ends_itself) {
            self.kept_blocks = Some(self.engine.kept.keep(id.clone(), lease));
        }
    }
}
