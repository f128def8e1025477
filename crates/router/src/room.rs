//! Bootstrap rooms: where the two legs of a request meet.

use std::sync::atomic::{AtomicU64, Ordering};

/// Gives numbers of 63 bits that look random and never repeat in a process: a counter, started at
/// random, run through a bijection. SGLang takes a room's remainder as the data rank of prefill, so
/// the low bits must be as good as the high ones.
#[derive(Debug)]
pub(crate) struct Rooms(AtomicU64);

const MASK: u64 = (1 << 63) - 1;

// === impl Rooms ===

impl Rooms {
    pub(crate) fn new() -> Self {
        Self(AtomicU64::new(fastrand::u64(..)))
    }

    pub(crate) fn next(&self) -> u64 {
        mix(self.0.fetch_add(1, Ordering::Relaxed) & MASK)
    }
}

/// A bijection on 63 bits: each step (a xor with its own high half, a product with an odd number)
/// can be undone.
fn mix(mut room: u64) -> u64 {
    for factor in [0xBF58_476D_1CE4_E5B9, 0x94D0_49BB_1331_11EB] {
        room ^= room >> 32;
        room = room.wrapping_mul(factor) & MASK;
    }
    room ^ (room >> 32)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::{MASK, Rooms};

    #[test]
    fn rooms_differ_and_spread_over_ranks() {
        let rooms = Rooms::new();
        let given: HashSet<_> = (0..80_000).map(|_| rooms.next()).collect();
        assert_eq!(given.len(), 80_000);
        assert!(given.iter().all(|&room| room <= MASK));
        for rank in 0..8 {
            let share = given.iter().filter(|&room| room % 8 == rank).count();
            assert!((9_500..10_500).contains(&share), "{share} of 80,000 for rank {rank}");
        }
    }
}
