//! Byte edits of a JSON body.
//!
//! A body is never parsed and written again: that would change key order, number spelling (`0.7`,
//! 30 digits) and escapes, drop what a struct does not know, and copy the prompt. Instead the body
//! becomes a list of pieces, most of them windows on the bytes that the client sent.

mod gather;
mod members;

use std::{collections::VecDeque, io::IoSlice, ops::Range};

use bytes::{Buf, Bytes};

pub use self::gather::Gather;

/// A body in pieces. Cloning copies no bytes, so both legs of a pair can send the same one.
#[derive(Clone, Debug, Default)]
pub struct Splice {
    pieces: VecDeque<Bytes>,
    remaining: usize,
}

// === impl Splice ===

impl Splice {
    /// Adds bytes at the end.
    pub fn push(&mut self, piece: Bytes) {
        if !piece.is_empty() {
            self.remaining += piece.len();
            self.pieces.push_back(piece);
        }
    }

    /// Puts `with` in the place of the bytes in `range`, clamped to the body's length.
    #[must_use]
    pub fn replace(self, range: Range<usize>, with: Bytes) -> Self {
        let mut edited =
            Self { pieces: VecDeque::with_capacity(self.pieces.len() + 2), remaining: 0 };
        let (mut at, mut with) = (0, Some(with));
        for piece in self.pieces {
            let end = at + piece.len();
            edited.push(piece.slice(..range.start.clamp(at, end) - at));
            if range.start <= end {
                edited.push(with.take().unwrap_or_default());
            }
            edited.push(piece.slice(range.end.clamp(at, end) - at..));
            at = end;
        }
        edited.push(with.unwrap_or_default());
        edited
    }

    /// Puts members at the front of the object whose `{` stands at `open`; `empty` says whether it
    /// has none yet. Values are JSON text, names need no escapes.
    #[must_use]
    pub fn insert_members(self, open: usize, empty: bool, members: &[(&str, &str)]) -> Self {
        let mut text =
            String::with_capacity(members.iter().map(|(k, v)| k.len() + v.len() + 4).sum());
        for (index, (name, value)) in members.iter().enumerate() {
            if index > 0 {
                text.push(',');
            }
            text.push('"');
            text.push_str(name);
            text.push_str("\":");
            text.push_str(value);
        }
        if !empty && !members.is_empty() {
            text.push(',');
        }
        self.replace(open + 1..open + 1, text.into())
    }

    /// The bytes from `start` on, as far as they stand together in memory; at most `limit`.
    pub fn run_at(&self, start: usize, limit: usize) -> &[u8] {
        let mut at = 0;
        for piece in &self.pieces {
            if start < at + piece.len() {
                let run = &piece[start - at..];
                return &run[..run.len().min(limit)];
            }
            at += piece.len();
        }
        &[]
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.remaining
    }

    /// It has no bytes.
    pub fn is_empty(&self) -> bool {
        self.remaining == 0
    }

    /// The whole as one run of bytes: free when it is one piece, else one copy.
    pub fn into_bytes(mut self) -> Bytes {
        self.copy_to_bytes(self.remaining)
    }
}

impl From<Bytes> for Splice {
    fn from(bytes: Bytes) -> Self {
        let mut splice = Self::default();
        splice.push(bytes);
        splice
    }
}

impl From<VecDeque<Bytes>> for Splice {
    fn from(pieces: VecDeque<Bytes>) -> Self {
        let remaining = pieces.iter().map(Bytes::len).sum();
        Self { pieces, remaining }
    }
}

impl From<Splice> for VecDeque<Bytes> {
    fn from(splice: Splice) -> Self {
        splice.pieces
    }
}

impl Buf for Splice {
    fn remaining(&self) -> usize {
        self.remaining
    }

    fn chunk(&self) -> &[u8] {
        self.pieces.front().map_or(&[], |piece| piece)
    }

    fn chunks_vectored<'a>(&'a self, into: &mut [IoSlice<'a>]) -> usize {
        let slots = into.iter_mut().zip(&self.pieces);
        slots.map(|(slot, piece)| *slot = IoSlice::new(piece)).count()
    }

    fn advance(&mut self, mut count: usize) {
        assert!(count <= self.remaining, "advance past the end");
        self.remaining -= count;
        while let Some(front) = self.pieces.front_mut() {
            if count < front.len() {
                front.advance(count);
                return;
            }
            count -= front.len();
            self.pieces.pop_front();
        }
    }

    fn copy_to_bytes(&mut self, count: usize) -> Bytes {
        assert!(count <= self.remaining, "copy past the end");
        if let Some(front) = self.pieces.front().filter(|front| front.len() >= count) {
            let bytes = front.slice(..count);
            self.advance(count);
            return bytes;
        }
        let mut joined = Vec::with_capacity(count);
        while joined.len() < count {
            let chunk = self.chunk();
            let part = chunk.len().min(count - joined.len());
            joined.extend_from_slice(&chunk[..part]);
            self.advance(part);
        }
        joined.into()
    }
}

#[cfg(test)]
mod tests {
    use bytes::{Buf, Bytes};

    use super::Splice;

    fn pieces(text: &'static str, size: usize) -> Splice {
        let mut splice = Splice::default();
        for piece in text.as_bytes().chunks(size) {
            splice.push(Bytes::from_static(piece));
        }
        splice
    }

    fn text(splice: Splice) -> String {
        String::from_utf8(splice.into_bytes().to_vec()).unwrap()
    }

    #[test]
    fn a_range_is_replaced_wherever_the_pieces_end() {
        let body = "0123456789";
        for size in 1..=10 {
            for start in 0..=10 {
                for end in start..=10 {
                    let edited = pieces(body, size).replace(start..end, Bytes::from_static(b"<>"));
                    assert_eq!(edited.remaining(), 10 - (end - start) + 2);
                    let want = format!("{}<>{}", &body[..start], &body[end..]);
                    assert_eq!(text(edited), want, "{start}..{end} in pieces of {size}");
                }
            }
        }
        assert_eq!(text(Splice::default().replace(0..0, Bytes::from_static(b"x"))), "x");
    }

    #[test]
    fn members_go_to_the_front() {
        let members = [("a", "1"), ("b", "\"x\"")];
        let edited = pieces(" {\"z\":0.70}", 3).insert_members(1, false, &members);
        assert_eq!(text(edited), r#" {"a":1,"b":"x","z":0.70}"#);
        assert_eq!(text(pieces("{ }", 9).insert_members(0, true, &members)), r#"{"a":1,"b":"x" }"#);
        assert_eq!(text(pieces("{\"z\":0}", 9).insert_members(0, false, &[])), r#"{"z":0}"#);
    }

    #[test]
    fn the_bytes_of_the_client_are_not_copied() {
        let body = Bytes::from(vec![b'{', b' ', b'}']);
        let edited = Splice::from(body.clone()).insert_members(0, true, &[("a", "1")]);
        let last = edited.pieces.back().unwrap();
        assert_eq!(last.as_ptr(), body[1..].as_ptr());
    }

    #[test]
    fn reads_like_one_buffer() {
        let mut splice = pieces("0123456789", 4);
        assert_eq!(splice.copy_to_bytes(2), "01");
        assert_eq!(splice.copy_to_bytes(5), "23456");
        splice.advance(1);
        let mut slots = [std::io::IoSlice::new(&[]); 4];
        assert_eq!(splice.chunks_vectored(&mut slots), 1);
        assert_eq!(&*slots[0], b"89");
        assert_eq!(splice.into_bytes(), "89");
    }
}
