//! However the network cuts a stream, the same events and facts are read from it. The first byte
//! says how it is cut.

use plimsoll_wire::{
    Endpoint, Usage,
    reply::{Asked, EventFacts, StreamReader},
    sse::SseScanner,
};

/// All that is read from a stream.
#[derive(Debug, PartialEq)]
pub struct Read {
    /// Of each event.
    pub data: Vec<Vec<u8>>,
    /// Of each event.
    pub facts: Vec<EventFacts>,
    usage: Option<Usage>,
    model: Option<String>,
    flags: (bool, bool, u64),
}

/// # Panics
///
/// If it does not hold.
pub fn check(bytes: &[u8]) {
    let Some((&rule, stream)) = bytes.split_first() else { return };
    for endpoint in [
        Endpoint::Chat,
        Endpoint::Completions,
        Endpoint::Generate,
        Endpoint::Responses,
        Endpoint::Messages,
    ] {
        let whole = read(endpoint, std::iter::once(stream));
        assert_eq!(read(endpoint, cut(rule, stream)), whole);
        assert_eq!(read(endpoint, stream.chunks(1)), whole);
    }
}

/// Pieces of 0 to 63 bytes, another row of them for each rule.
fn cut(rule: u8, mut rest: &[u8]) -> impl Iterator<Item = &[u8]> {
    let mut state = u32::from(rule);
    std::iter::from_fn(move || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        let (piece, after) = rest.split_at(rest.len().min((state >> 26) as usize));
        let more = !rest.is_empty();
        rest = after;
        more.then_some(piece)
    })
}

/// Reads a stream that comes in these pieces.
///
/// # Panics
///
/// If an event is said to stand where it cannot.
pub fn read<'a>(endpoint: Endpoint, pieces: impl Iterator<Item = &'a [u8]>) -> Read {
    let (mut scanner, mut reader) =
        (SseScanner::default(), StreamReader::new(endpoint, Asked::default()));
    let (mut data, mut facts) = (Vec::new(), Vec::new());
    for piece in pieces {
        let mut taken = 0;
        let unfinished = scanner.push(piece, |event| {
            assert!(event.span.start >= taken && event.span.end <= piece.len());
            taken = event.span.end;
            data.push(event.data.to_vec());
        });
        assert!(taken <= unfinished && unfinished <= piece.len());
        reader.push(piece, |event| facts.push(event));
    }
    scanner.finish(|event| data.push(event.data.to_vec()));
    reader.finish(|event| facts.push(event));
    let flags = (reader.is_terminated(), reader.has_error(), reader.malformed());
    Read { data, facts, usage: reader.usage(), model: reader.model().map(str::to_owned), flags }
}
