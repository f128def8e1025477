/// The brackets that are open around a value, by the byte that closes each.
///
/// A bit tells which of the two, so that only what nests deeper than 64 takes memory.
#[derive(Default)]
pub(super) struct Open {
    depth: usize,
    /// The innermost ones, the last one lowest.
    bits: u64,
    outer: Vec<u64>,
}

// === impl Open ===

impl Open {
    const BITS: usize = u64::BITS as usize;

    pub(super) fn push(&mut self, end: u8) {
        if self.depth > 0 && self.depth % Self::BITS == 0 {
            self.outer.push(self.bits);
        }
        self.bits = self.bits << 1 | u64::from(end == b'}');
        self.depth += 1;
    }

    pub(super) fn pop(&mut self) {
        self.depth -= 1;
        self.bits >>= 1;
        if self.depth % Self::BITS == 0 {
            self.bits = self.outer.pop().unwrap_or_default();
        }
    }

    pub(super) fn last(&self) -> Option<u8> {
        (self.depth > 0).then_some(if self.bits & 1 == 1 { b'}' } else { b']' })
    }
}
