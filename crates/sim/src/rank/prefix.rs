//! The prefix cache: chains of token blocks, locked while in use, evicted oldest first.

use std::{
    cmp::Reverse,
    collections::{BTreeSet, HashMap},
};

use crate::text::{Token, mix};

/// Tokens in a block. Only whole blocks are shared.
pub(crate) const BLOCK: u64 = 16;

/// Names a block together with everything before it.
pub(super) type BlockId = u64;

/// Cached blocks. A block is locked by the requests that use it, or idle.
#[derive(Debug, Default)]
pub(super) struct PrefixCache {
    blocks: HashMap<BlockId, Block>,
    /// Idle blocks in the order of eviction. A block is never idle for longer than one behind it
    /// in its chain, and of equal age the deeper goes first, so no chain loses its middle.
    idle: BTreeSet<(u64, Reverse<u32>, BlockId)>,
    tick: u64,
}

#[derive(Debug)]
struct Block {
    locks: u32,
    depth: u32,
    /// When the block was last let go.
    tick: u64,
}

/// Ids of the whole blocks of a token list.
fn chain(tokens: &[Token]) -> impl Iterator<Item = BlockId> {
    tokens.chunks_exact(BLOCK as usize).scan(0, |id, block| {
        *id = block.iter().fold(*id, |id, &token| mix(id ^ u64::from(token)));
        Some(*id)
    })
}

// === impl PrefixCache ===

impl PrefixCache {
    /// Tokens of locked blocks.
    pub(super) fn locked_tokens(&self) -> u64 {
        (self.blocks.len() - self.idle.len()) as u64 * BLOCK
    }

    /// Tokens of idle blocks.
    pub(super) fn idle_tokens(&self) -> u64 {
        self.idle.len() as u64 * BLOCK
    }

    /// Locks the longest cached prefix that leaves at least one token to compute.
    pub(super) fn lock_prefix(&mut self, tokens: &[Token]) -> Vec<BlockId> {
        let computable = &tokens[..tokens.len().saturating_sub(1)];
        let known: Vec<_> =
            chain(computable).take_while(|id| self.blocks.contains_key(id)).collect();
        for id in &known {
            if let Some(block) = self.blocks.get_mut(id) {
                block.locks += 1;
                self.idle.remove(&(block.tick, Reverse(block.depth), *id));
            }
        }
        known
    }

    /// Unlocks blocks of one chain.
    pub(super) fn unlock(&mut self, ids: &[BlockId]) {
        self.tick += 1;
        for id in ids {
            if let Some(block) = self.blocks.get_mut(id) {
                block.locks -= 1;
                if block.locks == 0 {
                    block.tick = self.tick;
                    self.idle.insert((block.tick, Reverse(block.depth), *id));
                }
            }
        }
    }

    /// Adds the whole blocks of a token list, as idle ones where they are new.
    pub(super) fn insert(&mut self, tokens: &[Token]) {
        self.tick += 1;
        for (depth, id) in chain(tokens).enumerate() {
            let depth = depth as u32;
            let block = self.blocks.entry(id).or_insert(Block { locks: 0, depth, tick: 0 });
            if block.locks == 0 {
                self.idle.remove(&(block.tick, Reverse(depth), id));
                block.tick = self.tick;
                self.idle.insert((block.tick, Reverse(depth), id));
            }
        }
    }

    /// Drops the block that has been idle longest; false when none is idle.
    pub(super) fn evict(&mut self) -> bool {
        let Some((_, _, id)) = self.idle.pop_first() else {
            return false;
        };
        self.blocks.remove(&id);
        true
    }

    /// Drops every idle block.
    pub(super) fn clear(&mut self) {
        while self.evict() {}
    }
}
