//! SGLang's way of handing a prompt over: both halves of the pair meet in a room.

use std::sync::Arc;

use tokio::time::{Instant, sleep_until, timeout_at};

use super::Sequence;
use crate::{
    api::{
        problem::Problem,
        rooms::{Meeting, Room},
    },
    bootstrap::HandOver,
    clock,
    rank::Stage,
};

// === impl Sequence ===

impl Sequence {
    /// Prefill: the answer is not given before decode has the KV.
    pub(super) async fn prefill_and_hand_over(&mut self) -> Result<(), Problem> {
        let room = match &self.task.meeting {
            Meeting::In(room) => self.engine.rooms.enter(room.id),
            // Prefill does not notice that the samples share a room.
            Meeting::Shared(_) => {
                self.prefill().await;
                return Ok(());
            }
            _ => return Err(Problem::no_room(&self.task.rid)),
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
    pub(super) async fn take_over(&mut self) -> Result<(), Problem> {
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
                let fetch = self.engine.peers.wait_in_room(host, *port, *id);
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
}
