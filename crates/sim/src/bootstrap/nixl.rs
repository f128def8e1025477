//! What a vLLM prefill engine keeps for decode.
//!
//! A finished prompt stays in the KV pool under an id that the client carries to decode, which
//! fetches it from the prefill's side channel (`POST /sim/kept`). What nobody fetches in time is
//! given up. The protocol stands in for NIXL's own, whose KV transfer has no meaning here.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Mutex},
};

use serde::{Deserialize, Serialize};
use tokio::{
    sync::{Notify, watch},
    time::{Duration, Instant, sleep_until},
};

use crate::{
    rank::{BLOCK, Lease},
    sync::lock,
    totals::Totals,
};

/// Where the KV of a prompt is: what decode needs of `kv_transfer_params`.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Source {
    pub(crate) remote_engine_id: String,
    pub(crate) remote_request_id: String,
    pub(crate) remote_host: String,
    pub(crate) remote_port: u16,
}

/// All a prefill engine keeps.
#[derive(Debug)]
pub(crate) struct Kept {
    /// Names the engine to decode.
    pub(crate) engine_id: String,
    time_limit: Duration,
    totals: Arc<watch::Sender<Totals>>,
    state: Mutex<State>,
    added: Notify,
}

#[derive(Debug, Default)]
struct State {
    leases: HashMap<String, Lease>,
    /// Ids in the order of their deadlines, also those that have been fetched.
    deadlines: VecDeque<(Instant, String)>,
    /// Blocks have no places here, so every number is new.
    next_block: u64,
}

// === impl Kept ===

impl Kept {
    pub(crate) fn new(time_limit: Duration, totals: Arc<watch::Sender<Totals>>) -> Self {
        let (state, added) = (Mutex::default(), Notify::new());
        Self { engine_id: uuid(), time_limit, totals, state, added }
    }

    /// Keeps KV under an id, and gives numbers for the blocks it is in.
    pub(crate) fn keep(&self, id: String, mut lease: Lease) -> Vec<u64> {
        lease.park();
        self.totals.send_modify(|totals| totals.kept += 1);
        let mut state = lock(&self.state);
        state.deadlines.push_back((Instant::now() + self.time_limit, id.clone()));
        let first = state.next_block;
        // The last token is not in the cache yet.
        state.next_block += lease.len().saturating_sub(1).div_ceil(BLOCK);
        let blocks = (first..state.next_block).collect();
        state.leases.insert(id, lease);
        self.added.notify_one();
        blocks
    }

    /// Gives up what decode comes for, if it is known here and still there.
    pub(super) fn take(&self, source: &Source) -> bool {
        if source.remote_engine_id != self.engine_id {
            return false;
        }
        let taken = lock(&self.state).leases.remove(&source.remote_request_id).is_some();
        if taken {
            self.totals.send_modify(|totals| {
                totals.kept -= 1;
                totals.fetched += 1;
            });
        }
        taken
    }

    /// Gives up what is past its time, for ever.
    pub(crate) async fn tend(self: Arc<Self>) {
        loop {
            let next = lock(&self.state).deadlines.front().map(|(deadline, _)| *deadline);
            match next {
                Some(deadline) => sleep_until(deadline).await,
                None => self.added.notified().await,
            }
            while let Some(lease) = self.next_due() {
                if let Some(lease) = lease {
                    lease.expired();
                    drop(lease);
                    self.totals.send_modify(|totals| {
                        totals.kept -= 1;
                        totals.expired += 1;
                    });
                }
            }
        }
    }

    /// The next entry whose time is over, and what it still holds.
    fn next_due(&self) -> Option<Option<Lease>> {
        let mut state = lock(&self.state);
        let now = Instant::now();
        state.deadlines.front().filter(|(deadline, _)| *deadline <= now)?;
        let (_, id) = state.deadlines.pop_front()?;
        Some(state.leases.remove(&id))
    }
}

/// A random id in the form of a version 4 UUID.
fn uuid() -> String {
    let bits = fastrand::u128(..) & !(0xf << 76 | 0x3 << 62) | 4 << 76 | 2 << 62;
    let digits = format!("{bits:032x}");
    let (a, b, c, d, e) =
        (&digits[..8], &digits[8..12], &digits[12..16], &digits[16..20], &digits[20..]);
    format!("{a}-{b}-{c}-{d}-{e}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rank::Rank;

    #[tokio::test(start_paused = true)]
    async fn what_is_kept_is_fetched_once_or_given_up() {
        let totals = Arc::<watch::Sender<Totals>>::default();
        let kept = Arc::new(Kept::new(Duration::from_secs(30), Arc::clone(&totals)));
        let tending = tokio::spawn(Arc::clone(&kept).tend());
        let rank = Arc::new(Rank::new(100, 1, true));
        for id in ["a", "b"] {
            let blocks = kept.keep(id.to_owned(), rank.admit(&[1; 20], 0).await);
            assert_eq!(blocks.len(), 2);
        }
        let source = |engine: &str, request: &str| Source {
            remote_engine_id: engine.to_owned(),
            remote_request_id: request.to_owned(),
            remote_host: String::new(),
            remote_port: 0,
        };
        assert_eq!((rank.view().used, rank.view().running), (40, 0));
        assert!(!kept.take(&source("other", "a")));
        assert!(kept.take(&source(&kept.engine_id, "a")));
        assert!(!kept.take(&source(&kept.engine_id, "a")));
        assert_eq!(rank.view().used, 20);
        tokio::time::sleep(Duration::from_secs(31)).await;
        assert!(!kept.take(&source(&kept.engine_id, "b")));
        let Totals { kept, fetched, expired, .. } = *totals.borrow();
        assert_eq!((kept, fetched, expired, rank.view().used), (0, 1, 1, 0));
        tending.abort();
    }

    #[test]
    fn ids_have_their_dashes() {
        let id = uuid();
        let at = |index: usize| id.as_bytes()[index];
        assert_eq!((id.len(), at(8), at(14), at(23)), (36, b'-', b'4', b'-'));
    }
}
