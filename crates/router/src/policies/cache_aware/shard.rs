//! A part of what is remembered: a map whose entries are chained from the longest unused on.

use std::{collections::HashMap, time::Duration};

use tokio::time::Instant;

use super::marks::Mark;

/// What an entry counts for at least: about what it takes here.
const LEAST: usize = 64;
/// Entries that one call forgets once there are not too many bytes, so that no request waits long.
/// More than are added.
const BATCH: usize = 4;
/// The end of the chain on both sides: the slot that holds no entry.
const ENDS: usize = 0;

#[derive(Debug)]
pub(super) struct Shard {
    /// Where the entry of a hash is.
    places: HashMap<u64, usize>,
    slots: Vec<Slot>,
    /// Slots whose entries are forgotten.
    free: Vec<usize>,
    bytes: usize,
    max_bytes: usize,
    /// Room is being made.
    full: bool,
    /// When room was last made because it was time.
    evicted_at: Instant,
}

#[derive(Debug, Default)]
struct Slot {
    hash: u64,
    worker: u64,
    bytes: usize,
    /// The entry that was used before this one.
    older: usize,
    /// The entry that was used after this one.
    newer: usize,
}

// === impl Shard ===

impl Shard {
    pub(super) fn new(max_bytes: usize, now: Instant) -> Self {
        Self {
            places: HashMap::new(),
            slots: vec![Slot::default()],
            free: Vec::new(),
            bytes: 0,
            max_bytes,
            full: false,
            evicted_at: now,
        }
    }

    pub(super) fn worker(&self, hash: u64) -> Option<u64> {
        self.places.get(&hash).map(|&place| self.slots[place].worker)
    }

    /// Sets the worker of a mark, which is the last used one now.
    pub(super) fn put(&mut self, mark: &Mark, worker: u64) {
        let Self { places, slots, free, bytes, .. } = self;
        let place = *places.entry(mark.hash).or_insert_with(|| {
            let place = free.pop().unwrap_or(slots.len());
            if place == slots.len() {
                slots.push(Slot::default());
            }
            let counts_for = mark.bytes.max(LEAST);
            *bytes += counts_for;
            // Chained to itself: it has no neighbours yet.
            slots[place] =
                Slot { hash: mark.hash, worker, bytes: counts_for, older: place, newer: place };
            place
        });
        slots[place].worker = worker;
        self.unchain(place);
        self.chain(place);
    }

    /// Forgets the longest unused, if there are too many bytes or it is time to, until three
    /// quarters are left; the rest of that may be left to the next calls.
    pub(super) fn make_room(&mut self, now: Instant, interval: Duration) {
        if now.saturating_duration_since(self.evicted_at) >= interval {
            self.evicted_at = now;
            self.full = true;
        }
        let mut left = BATCH;
        loop {
            let over = self.bytes > self.max_bytes;
            self.full = (self.full || over) && self.bytes > self.max_bytes / 4 * 3;
            if !self.full || (left == 0 && !over) {
                return;
            }
            self.forget(self.slots[ENDS].newer);
            left = left.saturating_sub(1);
        }
    }

    fn forget(&mut self, place: usize) {
        self.unchain(place);
        self.places.remove(&self.slots[place].hash);
        self.bytes -= self.slots[place].bytes;
        self.free.push(place);
    }

    fn unchain(&mut self, place: usize) {
        let Slot { older, newer, .. } = self.slots[place];
        self.slots[older].newer = newer;
        self.slots[newer].older = older;
    }

    /// Puts it at the chain's newest end.
    fn chain(&mut self, place: usize) {
        let newest = std::mem::replace(&mut self.slots[ENDS].older, place);
        self.slots[newest].newer = place;
        let slot = &mut self.slots[place];
        (slot.older, slot.newer) = (newest, ENDS);
    }

    #[cfg(test)]
    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use tokio::time::Instant;

    use super::{Mark, Shard};

    const NEVER: Duration = Duration::MAX;

    fn mark(hash: u64) -> Mark {
        Mark { hash, end: 100, bytes: 100 }
    }

    fn known(shard: &Shard, hashes: std::ops::Range<u64>) -> Vec<u64> {
        hashes.filter(|&hash| shard.worker(hash).is_some()).collect()
    }

    #[test]
    fn the_longest_unused_go_until_three_quarters_are_left() {
        let now = Instant::now();
        let mut shard = Shard::new(800, now);
        for hash in 0..8 {
            shard.put(&mark(hash), 1);
            shard.make_room(now, NEVER);
        }
        assert_eq!((shard.bytes(), known(&shard, 0..9).len()), (800, 8));
        shard.put(&mark(0), 2);
        shard.put(&mark(8), 1);
        shard.make_room(now, NEVER);
        assert_eq!((shard.bytes(), shard.worker(0)), (600, Some(2)));
        assert_eq!(known(&shard, 0..9), [0, 4, 5, 6, 7, 8]);
        // Their slots are used again.
        shard.put(&mark(9), 1);
        shard.put(&mark(10), 1);
        assert_eq!((shard.slots.len(), shard.free.len()), (10, 1));
    }

    #[test]
    fn room_is_made_when_it_is_time() {
        let (start, minute) = (Instant::now(), Duration::from_secs(60));
        let mut shard = Shard::new(800, start);
        for hash in 0..8 {
            shard.put(&mark(hash), 1);
        }
        shard.make_room(start + minute / 2, minute);
        assert_eq!(shard.bytes(), 800);
        shard.make_room(start + minute, minute);
        assert_eq!((shard.bytes(), known(&shard, 0..8)), (600, (2..8).collect()));
        shard.make_room(start + minute * 2, minute);
        assert_eq!(shard.bytes(), 600);
    }

    #[test]
    fn no_call_forgets_many_and_none_fails_when_nothing_fits() {
        let now = Instant::now();
        let mut shard = Shard::new(100_000, now);
        for hash in 0..2_000 {
            shard.put(&mark(hash), 1);
            let before = shard.places.len();
            shard.make_room(now, NEVER);
            assert!(before - shard.places.len() <= super::BATCH && shard.bytes() <= 100_000);
        }
        // One that takes much has room at once, whatever it takes.
        shard.put(&Mark { hash: 9_999, end: 1, bytes: 90_000 }, 1);
        shard.make_room(now, NEVER);
        assert!(shard.bytes() <= 100_000 && shard.worker(9_999).is_some());
        let mut shard = Shard::new(0, now);
        shard.put(&mark(1), 1);
        shard.make_room(now, NEVER);
        shard.make_room(now, NEVER);
        assert_eq!((shard.bytes(), shard.worker(1)), (0, None));
    }
}
