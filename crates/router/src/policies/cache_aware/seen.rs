//! Which worker has seen which beginnings of prompts.

use std::{
    sync::{Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use tokio::time::Instant;
use xxhash_rust::xxh3::xxh3_64;

use super::{
    marks::{Mark, Marks},
    shard::Shard,
};
use crate::policies::Candidate;

/// The parts that are locked apart: a beginning is in one of them by its hash, so that prompts that
/// begin alike do not crowd one.
const SHARDS: usize = 16;

/// What is known of workers, by the hashes of their URLs: of each beginning, the last one that was
/// given it. What is known of one that has gone is forgotten when its time comes.
#[derive(Debug)]
pub(super) struct Seen {
    shards: [Mutex<Shard>; SHARDS],
    eviction_interval: Duration,
}

// === impl Seen ===

impl Seen {
    /// One that remembers so many bytes of prompts.
    pub(super) fn new(max_bytes: usize, eviction_interval: Duration) -> Self {
        let now = Instant::now();
        let shard = || Mutex::new(Shard::new(max_bytes / SHARDS, now));
        Self { shards: std::array::from_fn(|_| shard()), eviction_interval }
    }

    /// The index of the one that has seen the longest of these.
    pub(super) fn find(&self, marks: &[Mark], candidates: &[Candidate<'_>]) -> Option<usize> {
        // Shorter ones mostly have the worker that longer ones had.
        let mut gone = None;
        marks.iter().rev().find_map(|mark| {
            let worker = self.shard(mark.hash).worker(mark.hash)?;
            if gone == Some(worker) {
                return None;
            }
            gone = Some(worker);
            candidates.iter().position(|candidate| identity(candidate.url) == worker)
        })
    }

    /// From now on this worker has seen all of these.
    pub(super) fn remember(&self, marks: &Marks, url: &str) {
        let (worker, now) = (identity(url), Instant::now());
        for mark in marks.all() {
            let mut shard = self.shard(mark.hash);
            shard.put(mark, worker);
            shard.make_room(now, self.eviction_interval);
        }
    }

    fn shard(&self, hash: u64) -> MutexGuard<'_, Shard> {
        let shard = &self.shards[hash as usize % SHARDS];
        shard.lock().unwrap_or_else(PoisonError::into_inner)
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        let shards = self.shards.iter();
        shards.map(|shard| shard.lock().unwrap_or_else(PoisonError::into_inner).bytes()).sum()
    }
}

fn identity(url: &str) -> u64 {
    xxh3_64(url.as_bytes())
}
