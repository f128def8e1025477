//! A token pool: what running requests hold, what the prefix cache keeps, what is free.

use super::prefix::{BLOCK, BlockId, PrefixCache};
use crate::text::Token;

/// KV memory of one data-parallel rank, counted in tokens (page size 1).
#[derive(Debug)]
pub(super) struct Pool {
    capacity: u64,
    /// Whether finished requests leave their blocks behind. SGLang's decode servers do not.
    caching: bool,
    /// Tokens held by running requests beyond the cached blocks they lock.
    own: u64,
    /// Tokens running requests may still generate. Kept free, so that none ever runs dry.
    reserved: u64,
    /// Requests that hold tokens.
    pub(super) holders: usize,
    prefix: PrefixCache,
}

/// What one request holds.
#[derive(Debug, Default)]
pub(super) struct Held {
    locked: Vec<BlockId>,
    own: u64,
    reserved: u64,
    /// Its request no longer runs.
    parked: bool,
}

// === impl Held ===

impl Held {
    /// Prompt tokens found in the cache.
    pub(super) fn cached(&self) -> u64 {
        self.locked.len() as u64 * BLOCK
    }
}

// === impl Pool ===

impl Pool {
    pub(super) fn new(capacity: u64, caching: bool) -> Self {
        let prefix = PrefixCache::default();
        Self { capacity, caching, own: 0, reserved: 0, holders: 0, prefix }
    }

    /// Tokens in use: locked blocks and what running requests hold themselves.
    pub(super) fn used(&self) -> u64 {
        self.own + self.prefix.locked_tokens()
    }

    /// Cached tokens nobody uses.
    pub(super) fn evictable(&self) -> u64 {
        self.prefix.idle_tokens()
    }

    /// Free tokens.
    pub(super) fn available(&self) -> u64 {
        self.capacity - self.used() - self.evictable()
    }

    /// Takes room for a prompt and sets `max_new` tokens aside, or changes nothing.
    pub(super) fn admit(&mut self, prompt: &[Token], max_new: u64) -> Option<Held> {
        let locked = self.prefix.lock_prefix(prompt);
        let own = prompt.len() as u64 - locked.len() as u64 * BLOCK;
        if own + max_new + self.reserved > self.available() + self.evictable() {
            self.prefix.unlock(&locked);
            return None;
        }
        self.make_room(own);
        self.own += own;
        self.reserved += max_new;
        self.holders += 1;
        Some(Held { locked, own, reserved: max_new, parked: false })
    }

    /// Turns one reserved token into a held one.
    pub(super) fn grow(&mut self, held: &mut Held) {
        if held.reserved > 0 {
            self.make_room(1);
            held.reserved -= 1;
            self.reserved -= 1;
            held.own += 1;
            self.own += 1;
        }
    }

    /// Keeps the tokens of a request that no longer runs.
    pub(super) fn park(&mut self, held: &mut Held) {
        if !held.parked {
            held.parked = true;
            self.holders -= 1;
            self.reserved -= std::mem::take(&mut held.reserved);
        }
    }

    /// Gives everything back; the whole blocks of `tokens`, the request's prompt and answer, stay
    /// in the cache.
    pub(super) fn release(&mut self, held: &Held, tokens: &[Token]) {
        self.holders -= usize::from(!held.parked);
        self.own -= held.own;
        self.reserved -= held.reserved;
        self.prefix.unlock(&held.locked);
        if self.caching {
            self.prefix.insert(tokens);
        }
    }

    /// Empties the cache.
    pub(super) fn flush(&mut self) {
        self.prefix.clear();
    }

    fn make_room(&mut self, tokens: u64) {
        while self.available() < tokens && self.prefix.evict() {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(from: u32, count: u32) -> Vec<Token> {
        (from..from + count).collect()
    }

    fn sizes(pool: &Pool) -> (u64, u64, u64) {
        (pool.used(), pool.evictable(), pool.available())
    }

    #[test]
    fn a_request_fills_then_leaves_whole_blocks_behind() {
        let mut pool = Pool::new(100, true);
        let mut all = tokens(0, 30);
        let mut held = pool.admit(&all, 5).unwrap();
        assert_eq!(sizes(&pool), (30, 0, 70));
        for token in 90..95 {
            pool.grow(&mut held);
            all.push(token);
        }
        assert_eq!(sizes(&pool), (35, 0, 65));
        pool.release(&held, &all);
        assert_eq!(sizes(&pool), (0, 32, 68));
    }

    #[test]
    fn a_shared_prefix_is_held_once() {
        let mut pool = Pool::new(200, true);
        let prompt = tokens(0, 40);
        let first = pool.admit(&prompt, 0).unwrap();
        pool.release(&first, &prompt);
        let second = pool.admit(&prompt, 0).unwrap();
        let third = pool.admit(&prompt, 0).unwrap();
        assert_eq!((second.cached(), third.cached()), (32, 32));
        assert_eq!(sizes(&pool), (48, 0, 152));
        pool.release(&second, &prompt);
        assert_eq!(sizes(&pool), (40, 0, 160));
        pool.release(&third, &prompt);
        assert_eq!(sizes(&pool), (0, 32, 168));
    }

    #[test]
    fn the_oldest_tail_is_evicted_first() {
        let mut pool = Pool::new(64, true);
        for start in [0, 100] {
            let prompt = tokens(start, 32);
            let held = pool.admit(&prompt, 0).unwrap();
            pool.release(&held, &prompt);
        }
        assert_eq!(sizes(&pool), (0, 64, 0));
        let held = pool.admit(&tokens(500, 10), 0).unwrap();
        assert_eq!(sizes(&pool), (10, 48, 6));
        pool.release(&held, &[]);
        for (start, cached) in [(100, 32), (0, 16)] {
            let held = pool.admit(&tokens(start, 33), 0).unwrap();
            assert_eq!(held.cached(), cached);
            pool.release(&held, &[]);
        }
    }

    #[test]
    fn what_may_still_be_generated_is_set_aside() {
        let mut pool = Pool::new(50, true);
        let held = pool.admit(&tokens(0, 20), 20).unwrap();
        assert!(pool.admit(&tokens(100, 5), 6).is_none());
        assert_eq!(sizes(&pool), (20, 0, 30));
        pool.release(&held, &[]);
        assert!(pool.admit(&tokens(100, 5), 6).is_some());
    }
}
