//! A scanner for server-sent events that only looks.
//!
//! It finds the events of a stream in whatever pieces the network delivers, hands out their data
//! without copying where an event lies whole in one piece, and says which bytes of the piece each
//! event took, so that a caller can take one out. Line ends may be LF, CR or CRLF, also split
//! between pieces; comments and other fields are passed over; several `data` lines are joined; an
//! event that the stream's end leaves without its blank line is still one.

use std::{mem, ops::Range};

use memchr::memchr2;

/// How many bytes of one unfinished event are kept, unless told otherwise: 8 MiB. `/generate`
/// repeats the whole text in each event, so real ones do reach megabytes.
pub const MAX_EVENT: usize = 8 << 20;

/// The room for an unfinished event that is kept from one to the next, in bytes.
const KEPT: usize = 64 << 10;

/// Scans one stream. See the [module docs](self).
#[derive(Debug)]
pub struct SseScanner {
    /// The start of a line whose end has not come yet.
    line: Vec<u8>,
    /// The data lines of the unfinished event, joined, as far as earlier pieces held them.
    data: Vec<u8>,
    /// `data` holds at least one (perhaps empty) line.
    has_data: bool,
    /// The unfinished event began in an earlier piece.
    begun: bool,
    /// The last piece ended in a CR: an LF right at the start of the next belongs to it.
    after_cr: bool,
    /// No line was seen yet: a byte order mark may lead the first.
    at_start: bool,
    /// The unfinished event outgrew `limit`; its data is dropped.
    overflowing: bool,
    oversized: u64,
    limit: usize,
}

/// One event with data.
#[derive(Debug, PartialEq, Eq)]
pub struct Event<'a> {
    /// The value of its `data` lines, joined by LF.
    pub data: &'a [u8],
    /// The bytes of the pushed piece that belong to the event, its blank line included.
    pub span: Range<usize>,
    /// The event began in an earlier piece; `span` then starts where this piece does.
    pub continued: bool,
}

/// What lies in the piece now scanned, beside what earlier pieces left.
struct Piece<'a> {
    /// The one data line of the unfinished event, when it lies whole in this piece.
    data: Option<&'a [u8]>,
    /// Where the unfinished event begins in this piece.
    start: usize,
}

// === impl SseScanner ===

impl Default for SseScanner {
    fn default() -> Self {
        Self::with_limit(MAX_EVENT)
    }
}

impl SseScanner {
    /// A scanner that keeps at most `limit` bytes of one unfinished event; a larger event is passed
    /// over and [counted](Self::oversized).
    pub fn with_limit(limit: usize) -> Self {
        Self {
            line: Vec::new(),
            data: Vec::new(),
            has_data: false,
            begun: false,
            after_cr: false,
            at_start: true,
            overflowing: false,
            oversized: 0,
            limit,
        }
    }

    /// Scans the next piece of the stream and calls `on_event` for each event that ends in it.
    /// Returns where in the piece the still unfinished event begins: its length if there is none.
    pub fn push(&mut self, bytes: &[u8], mut on_event: impl FnMut(Event<'_>)) -> usize {
        let Some(&first) = bytes.first() else {
            return 0;
        };
        let mut at = usize::from(mem::take(&mut self.after_cr) && first == b'\n');
        let mut piece = Piece { data: None, start: if self.begun { 0 } else { at } };
        while let Some(length) = memchr2(b'\n', b'\r', &bytes[at..]) {
            let line = &bytes[at..at + length];
            at += length + 1;
            if bytes[at - 1] == b'\r' {
                match bytes.get(at) {
                    Some(b'\n') => at += 1,
                    Some(_) => {}
                    None => self.after_cr = true,
                }
            }
            if self.line.is_empty() && line.is_empty() {
                self.dispatch(&mut piece, at, &mut on_event);
            } else if self.line.is_empty() {
                self.take_line(line, &mut piece);
            } else {
                self.take_carried_line(line);
            }
        }
        self.carry(&bytes[at..], &mut piece);
        self.begun = piece.start < bytes.len();
        piece.start
    }

    /// Ends the stream: an event that lacks only its blank line is handed out with an empty span.
    pub fn finish(&mut self, mut on_event: impl FnMut(Event<'_>)) {
        self.push(b"\n\n", |event| {
            on_event(Event { data: event.data, span: 0..0, continued: true });
        });
    }

    /// How many events were passed over because they outgrew the limit.
    pub fn oversized(&self) -> u64 {
        self.oversized
    }

    /// A blank line: the event ends at `end`.
    fn dispatch(
        &mut self,
        piece: &mut Piece<'_>,
        end: usize,
        on_event: &mut impl FnMut(Event<'_>),
    ) {
        self.at_start = false;
        let span = mem::replace(&mut piece.start, end)..end;
        let continued = mem::take(&mut self.begun);
        if let Some(data) = piece.data.take() {
            on_event(Event { data, span, continued });
        } else if mem::take(&mut self.overflowing) {
            self.oversized += 1;
        } else if self.has_data {
            on_event(Event { data: &self.data, span, continued });
        }
        self.has_data = false;
        empty(&mut self.data);
    }

    /// A line that lies whole in the piece.
    fn take_line<'a>(&mut self, line: &'a [u8], piece: &mut Piece<'a>) {
        let Some(value) = data_value(self.without_mark(line)) else {
            return;
        };
        if !self.has_data && piece.data.is_none() && !self.overflowing {
            piece.data = Some(value);
            return;
        }
        if let Some(first) = piece.data.take() {
            self.append(first);
        }
        self.append(value);
    }

    /// The last part of a line that began in an earlier piece.
    fn take_carried_line(&mut self, rest: &[u8]) {
        self.extend_line(rest);
        let mut line = mem::take(&mut self.line);
        if let Some(value) = data_value(self.without_mark(&line)) {
            self.append(value);
        }
        empty(&mut line);
        self.line = line;
    }

    /// The piece ends: keeps what the next one needs.
    fn carry(&mut self, rest: &[u8], piece: &mut Piece<'_>) {
        if let Some(data) = piece.data.take() {
            self.append(data);
        }
        self.extend_line(rest);
    }

    fn append(&mut self, value: &[u8]) {
        if self.overflows(value.len()) {
            return;
        }
        if self.has_data {
            self.data.push(b'\n');
        }
        self.has_data = true;
        self.data.extend_from_slice(value);
    }

    fn extend_line(&mut self, rest: &[u8]) {
        if !rest.is_empty() && !self.overflows(rest.len()) {
            self.line.extend_from_slice(rest);
        } else if !rest.is_empty() && self.line.is_empty() {
            // Only that the line is not blank still matters.
            self.line.push(b':');
        }
    }

    fn overflows(&mut self, more: usize) -> bool {
        if !self.overflowing && self.data.len() + self.line.len() + more > self.limit {
            self.overflowing = true;
            self.has_data = false;
            self.data = Vec::new();
            self.line = if self.line.is_empty() { Vec::new() } else { vec![b':'] };
        }
        self.overflowing
    }

    fn without_mark<'a>(&mut self, line: &'a [u8]) -> &'a [u8] {
        match (mem::take(&mut self.at_start), line) {
            (true, [0xEF, 0xBB, 0xBF, rest @ ..]) => rest,
            _ => line,
        }
    }
}

/// Empties a buffer; what one large event has made of it is given back.
fn empty(buffer: &mut Vec<u8>) {
    buffer.clear();
    buffer.shrink_to(KEPT);
}

/// The value of a `data` line.
fn data_value(line: &[u8]) -> Option<&[u8]> {
    match line.strip_prefix(b"data")? {
        [] => Some(&[]),
        [b':', b' ', value @ ..] | [b':', value @ ..] => Some(value),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
