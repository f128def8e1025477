use bytes::{Bytes, BytesMut};

/// The most that is set aside for bytes that are only announced: 1 MiB.
const MAX_AHEAD: usize = 1 << 20;

/// A body gathered into one run of bytes. One that comes in one piece stays where it is. Of others
/// each piece is copied as it comes, so that the next one can come into the same memory.
#[derive(Debug, Default)]
pub struct Gather {
    first: Bytes,
    run: BytesMut,
}

// === impl Gather ===

impl Gather {
    /// Adds bytes at the end, `ahead` of which about as many more will come.
    pub fn push(&mut self, piece: Bytes, ahead: usize) {
        if self.is_empty() {
            self.first = piece;
            return;
        }
        if self.run.is_empty() {
            let first = std::mem::take(&mut self.first);
            self.run.reserve(first.len() + piece.len() + ahead.min(MAX_AHEAD));
            self.run.extend_from_slice(&first);
        }
        self.run.extend_from_slice(&piece);
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.first.len() + self.run.len()
    }

    /// It has no bytes.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The whole.
    pub fn into_bytes(self) -> Bytes {
        if self.run.is_empty() { self.first } else { self.run.freeze() }
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::Gather;

    fn gathered(pieces: &[&'static str], ahead: usize) -> Bytes {
        let mut gather = Gather::default();
        for piece in pieces {
            gather.push(Bytes::from_static(piece.as_bytes()), ahead);
        }
        gather.into_bytes()
    }

    #[test]
    fn the_pieces_stand_together_whatever_was_announced() {
        for ahead in [0, 3, usize::MAX] {
            assert_eq!(gathered(&["", "a", "", "bc", "def"], ahead), "abcdef");
            assert_eq!(gathered(&[], ahead), "");
        }
    }

    #[test]
    fn one_piece_stays_where_it_is() {
        let piece = "whole";
        assert_eq!(gathered(&["", piece], 9).as_ptr(), piece.as_ptr());
    }
}
