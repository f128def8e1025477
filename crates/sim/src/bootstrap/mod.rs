//! Where prefill and decode meet: in a room (SGLang), or through what prefill keeps (vLLM, see
//! [`nixl`]).
//!
//! An SGLang prefill engine keeps one [`Room`] for each request, named by `bootstrap_room`. Decode
//! asks for the room at the prefill's bootstrap port (`POST /sim/rooms/ROOM`), which is answered
//! once prefill has computed the prompt. Either side may come first; whoever leaves frees its
//! place. The protocol stands in for SGLang's own, whose KV transfer has no meaning here.

mod client;
pub(crate) mod nixl;
mod server;

use std::{
    collections::HashMap,
    sync::{Arc, Mutex},
};

use serde::{Deserialize, Serialize};
use tokio::sync::watch;

pub(crate) use self::{client::Peers, server::listen};
use crate::sync::lock;

/// What prefill hands to decode. The tokens need no handing over: both sides know them.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(crate) struct HandOver {
    /// Prompt tokens prefill found in its cache.
    pub(crate) cached_tokens: u64,
}

/// All rooms of a prefill engine that somebody is in.
#[derive(Debug, Default)]
pub(crate) struct Rooms {
    open: Mutex<HashMap<u64, Entry>>,
}

#[derive(Debug, Default)]
struct Entry {
    guests: usize,
    state: watch::Sender<RoomState>,
}

#[derive(Debug, Default)]
struct RoomState {
    decode_waits: bool,
    hand_over: Option<HandOver>,
    fetched: bool,
}

/// A place in a room.
#[derive(Debug)]
pub(crate) struct Room {
    rooms: Arc<Rooms>,
    id: u64,
    state: watch::Sender<RoomState>,
}

// === impl Rooms ===

impl Rooms {
    /// Enters a room, opening it if need be.
    pub(crate) fn enter(self: &Arc<Self>, id: u64) -> Room {
        let mut open = lock(&self.open);
        let entry = open.entry(id).or_default();
        entry.guests += 1;
        Room { rooms: Arc::clone(self), id, state: entry.state.clone() }
    }
}

// === impl Room ===

impl Room {
    /// Prefill: waits for decode to come.
    pub(crate) async fn decode_came(&self) {
        self.wait(|state| state.decode_waits).await;
    }

    /// Prefill: hands over the result and waits until decode has it.
    pub(crate) async fn hand_over(&self, result: HandOver) {
        self.state.send_modify(|state| state.hand_over = Some(result));
        self.wait(|state| state.fetched).await;
    }

    /// Decode: waits for the result. Gone before that, decode counts as not having come.
    async fn fetch(&self) -> Option<HandOver> {
        self.state.send_modify(|state| state.decode_waits = true);
        let leaving = Leaving(self);
        self.wait(|state| state.hand_over.is_some()).await;
        self.state.send_modify(|state| state.fetched = true);
        drop(leaving);
        self.state.borrow().hand_over
    }

    async fn wait(&self, condition: impl FnMut(&RoomState) -> bool) {
        // A sender lives in `self`, so the wait cannot fail.
        let _ = self.state.subscribe().wait_for(condition).await;
    }
}

impl Drop for Room {
    fn drop(&mut self) {
        let mut open = lock(&self.rooms.open);
        if let Some(entry) = open.get_mut(&self.id) {
            entry.guests -= 1;
            if entry.guests == 0 {
                open.remove(&self.id);
            }
        }
    }
}

/// Takes back decode's presence.
struct Leaving<'a>(&'a Room);

// === impl Leaving ===

impl Drop for Leaving<'_> {
    fn drop(&mut self) {
        self.0.state.send_modify(|state| state.decode_waits = false);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn either_side_may_come_first() {
        let rooms = Arc::new(Rooms::default());
        let (prefill, decode) = (rooms.enter(7), rooms.enter(7));
        let give = async {
            prefill.decode_came().await;
            prefill.hand_over(HandOver { cached_tokens: 3 }).await;
        };
        let (result, ()) = tokio::join!(decode.fetch(), give);
        assert_eq!(result.map(|result| result.cached_tokens), Some(3));
        drop((prefill, decode));
        assert!(lock(&rooms.open).is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn a_decode_that_left_has_not_come() {
        let rooms = Arc::new(Rooms::default());
        let (prefill, decode) = (rooms.enter(7), rooms.enter(7));
        let second = std::time::Duration::from_secs(1);
        assert!(tokio::time::timeout(second, decode.fetch()).await.is_err());
        assert!(tokio::time::timeout(second, prefill.decode_came()).await.is_err());
    }
}
