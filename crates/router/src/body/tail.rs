/// The last bytes of a stream of events, as far as its end depends on them.
#[derive(Debug, Default)]
pub(super) struct StreamTail {
    last: Vec<u8>,
    marked: bool,
}

/// A line end, the marker and the longest blank line after it.
const LENGTH: usize = "\ndata: [DONE]\r\n\r\n".len();

// === impl StreamTail ===

impl StreamTail {
    pub(super) fn push(&mut self, data: &[u8]) {
        let fresh = &data[data.len().saturating_sub(LENGTH)..];
        let stale = (self.last.len() + fresh.len()).saturating_sub(LENGTH);
        self.last.drain(..stale);
        self.last.extend_from_slice(fresh);
        self.marked |= self.ends_in_marker();
    }

    /// The terminal marker has passed.
    pub(super) fn is_marked(&self) -> bool {
        self.marked
    }

    /// What ends a line, and an event, that may be open.
    pub(super) fn closing(&self) -> &'static [u8] {
        match self.last.as_slice() {
            [] | [.., b'\n', b'\n'] | [.., b'\n', b'\r', b'\n'] | [.., b'\r', b'\r'] => b"",
            [.., b'\n'] => b"\n",
            // Behind a CR the first LF may belong to it.
            _ => b"\n\n",
        }
    }

    fn ends_in_marker(&self) -> bool {
        let line = self.last.trim_ascii_end();
        let before = line.strip_suffix(b"[DONE]").map(<[u8]>::trim_ascii_end);
        let before = before.and_then(|before| before.strip_suffix(b"data:"));
        before.is_some_and(|before| matches!(before, [] | [.., b'\n' | b'\r']))
    }
}

#[cfg(test)]
mod tests {
    use super::StreamTail;

    fn tail(stream: &str, size: usize) -> StreamTail {
        let mut tail = StreamTail::default();
        for piece in stream.as_bytes().chunks(size) {
            tail.push(piece);
        }
        tail
    }

    #[test]
    fn ends_are_seen_at_any_split() {
        for (stream, marked, closing) in [
            ("data: x\n\ndata: [DONE]\n\n", true, ""),
            ("data: x\r\n\r\ndata: [DONE]\r\n\r\n", true, ""),
            ("data:[DONE]", true, "\n\n"),
            ("data: {\"c\":\"data: [DONE]\"}\n\n", false, ""),
            ("data: x data: [DONE]\n", false, "\n"),
            ("data: {\"choi", false, "\n\n"),
            ("data: x\r", false, "\n\n"),
            ("", false, ""),
        ] {
            for size in 1..=stream.len().max(1) {
                let tail = tail(stream, size);
                let seen = (tail.is_marked(), tail.closing());
                assert_eq!(seen, (marked, closing.as_bytes()), "{stream:?} by {size}");
            }
        }
    }
}
