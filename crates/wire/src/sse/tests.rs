use proptest::prelude::*;

use super::SseScanner;

/// The data of all events when the stream comes in the given pieces.
fn scan(pieces: &[&[u8]]) -> Vec<Vec<u8>> {
    let mut scanner = SseScanner::default();
    let mut events = Vec::new();
    for piece in pieces {
        scanner.push(piece, |event| events.push(event.data.to_vec()));
    }
    scanner.finish(|event| events.push(event.data.to_vec()));
    events
}

/// The bytes that the spans leave over, with the held-back start of unfinished events put back.
fn cut(stream: &[u8], at: &[usize], drop: impl Fn(&[u8]) -> bool) -> Vec<u8> {
    let (mut scanner, mut kept, mut held) = (SseScanner::default(), Vec::new(), Vec::new());
    let mut from = 0;
    for &to in at.iter().chain([&stream.len()]) {
        let piece = &stream[from..to];
        let mut passed = 0;
        let unfinished = scanner.push(piece, |event| {
            kept.append(&mut if drop(event.data) { Vec::new() } else { held.clone() });
            held.clear();
            kept.extend_from_slice(&piece[passed..event.span.start]);
            if !drop(event.data) {
                kept.extend_from_slice(&piece[event.span.clone()]);
            }
            passed = event.span.end;
        });
        if unfinished > passed {
            kept.append(&mut held);
        }
        kept.extend_from_slice(&piece[passed..unfinished.max(passed)]);
        held.extend_from_slice(&piece[unfinished.max(passed)..]);
        from = to;
    }
    kept.append(&mut held);
    kept
}

#[test]
fn events_of_every_spelling() {
    let cases: [(&[u8], &[&str]); 12] = [
        (b"data: a\n\ndata:b\n\n", &["a", "b"]),
        (b"data: a\r\n\r\ndata: b\r\r", &["a", "b"]),
        (b": ping\n\nevent: x\nid: 1\ndata: a\nretry: 3\n\n", &["a"]),
        (b"data: a\ndata: b\n\n", &["a\nb"]),
        (b"data\n\n", &[""]),
        (b"data:\ndata:\n\n", &["\n"]),
        (b"data:  two spaces\n\n", &[" two spaces"]),
        (b"database: no\n\n", &[]),
        (b"data: no blank line", &["no blank line"]),
        (b"data: one line end\n", &["one line end"]),
        (b"\xEF\xBB\xBFdata: mark\n\n", &["mark"]),
        (b"\n\n\r\n: only\n\n", &[]),
    ];
    for (stream, want) in cases {
        let want: Vec<_> = want.iter().map(|data| data.as_bytes().to_vec()).collect();
        assert_eq!(scan(&[stream]), want, "{}", stream.escape_ascii());
        for at in 0..=stream.len() {
            let (head, tail) = stream.split_at(at);
            assert_eq!(scan(&[head, tail]), want, "{} at {at}", stream.escape_ascii());
        }
        let bytes: Vec<_> = stream.chunks(1).collect();
        assert_eq!(scan(&bytes), want, "{} byte by byte", stream.escape_ascii());
    }
}

#[test]
fn an_event_in_one_piece_is_not_copied() {
    let stream = b"data: whole\n\n";
    let mut scanner = SseScanner::default();
    let unfinished = scanner.push(stream, |event| {
        assert_eq!(event.data.as_ptr(), stream[6..].as_ptr());
        assert_eq!((event.span, event.continued), (0..13, false));
    });
    assert_eq!(unfinished, stream.len());
    assert_eq!(scanner.data.capacity() + scanner.line.capacity(), 0);
}

#[test]
fn spans_take_out_one_event_and_no_more() {
    let stream = b": hi\r\n\r\ndata: a\r\n\r\nevent: x\r\ndata: drop\r\n\r\ndata: b\r\n\r\n";
    let want = b": hi\r\n\r\ndata: a\r\n\r\ndata: b\r\n\r\n";
    for at in 0..=stream.len() {
        let left = cut(stream, &[at], |data| data == b"drop");
        // A CRLF split between the pieces leaves its LF with the next one.
        let stray = [&want[..19], b"\n", &want[19..]].concat();
        assert!(left == want || left == stray, "at {at}: {}", left.escape_ascii());
    }
}

#[test]
fn an_event_over_the_limit_is_passed_over_and_counted() {
    let stream = b"data: 0123456789\n\ndata: b\n\n";
    for size in 1..stream.len() {
        let mut scanner = SseScanner::with_limit(8);
        let mut events = Vec::new();
        for piece in stream.chunks(size) {
            scanner.push(piece, |event| events.push(event.data.to_vec()));
            assert!(scanner.data.len() + scanner.line.len() <= 8);
        }
        let large_seen_whole = events.first().is_some_and(|data| data == b"0123456789");
        assert_eq!(events.last().map(Vec::as_slice), Some(b"b".as_slice()), "pieces of {size}");
        assert_eq!(scanner.oversized(), u64::from(!large_seen_whole), "pieces of {size}");
    }
}

proptest! {
    #[test]
    fn any_split_gives_the_same_events(
        lines in prop::collection::vec("(data: ?|: |event: |)[a-z:é ]{0,12}", 0..12),
        ends in prop::collection::vec(prop::sample::select(vec!["\n", "\r\n", "\r", "\n\n", "\r\n\r\n"]), 12),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..6),
    ) {
        let stream: String = lines.iter().zip(&ends).flat_map(|(line, end)| [line.as_str(), end]).collect();
        let stream = stream.as_bytes();
        let mut at: Vec<_> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        at.sort_unstable();
        let mut pieces = Vec::new();
        let mut from = 0;
        for &to in at.iter().chain([&stream.len()]) {
            pieces.push(&stream[from..to]);
            from = to;
        }
        prop_assert_eq!(scan(&pieces), scan(&[stream]));
        prop_assert_eq!(cut(stream, &at, |_| false), stream);
    }
}

#[test]
fn what_a_large_event_took_is_given_back() {
    let mut scanner = SseScanner::default();
    let large = format!("data: {}", "x".repeat(1 << 20));
    scanner.push(large.as_bytes(), |_| {});
    let mut events = 0;
    scanner.push(b"\n\ndata: small\n\n", |_| events += 1);
    assert_eq!(events, 2);
    assert!(scanner.line.capacity() + scanner.data.capacity() <= 2 * super::KEPT);
}
