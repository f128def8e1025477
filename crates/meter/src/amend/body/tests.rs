use std::{convert::Infallible, pin::pin, task::Poll};

use bytes::Bytes;
use http_body::{Body, Frame};
use http_body_util::StreamBody;
use proptest::prelude::*;

use super::AmendedBody;
use crate::amend::Withheld;

const USAGE: &str =
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":3}}\n\n";
const TOKEN: &str = "data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}],\"usage\":null}\n\n";
const DONE: &str = "data: [DONE]\n\n";

/// What comes out when the stream comes in the given pieces, and the counts kept back.
fn filter(pieces: &[&[u8]]) -> (Vec<u8>, Option<plimsoll_wire::Usage>) {
    let frames: Vec<Result<_, Infallible>> =
        pieces.iter().map(|piece| Ok(Frame::data(Bytes::copy_from_slice(piece)))).collect();
    let withheld = Withheld::default();
    let stream = StreamBody::new(futures_util::stream::iter(frames));
    let mut body = pin!(AmendedBody::withholding(stream, withheld.clone()));
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    let mut out = Vec::new();
    while let Poll::Ready(Some(frame)) = body.as_mut().poll_frame(&mut cx) {
        let data = frame.unwrap().into_data().unwrap();
        assert!(!data.is_empty());
        out.extend_from_slice(&data);
    }
    assert!(body.is_end_stream());
    (out, withheld.get().usage())
}

#[test]
fn a_frame_of_whole_events_passes_uncopied() {
    let frame = Bytes::from([TOKEN, TOKEN].concat());
    let stream = StreamBody::new(futures_util::stream::iter([Ok::<_, Infallible>(Frame::data(
        frame.clone(),
    ))]));
    let mut body = pin!(AmendedBody::withholding(stream, Withheld::default()));
    let mut cx = std::task::Context::from_waker(std::task::Waker::noop());
    let Poll::Ready(Some(Ok(out))) = body.as_mut().poll_frame(&mut cx) else { panic!("no frame") };
    let out = out.into_data().unwrap();
    assert_eq!((out.as_ptr(), out.len()), (frame.as_ptr(), frame.len()));
}

#[test]
fn an_unfinished_end_is_let_out_and_an_unfinished_usage_event_is_not() {
    let (out, withheld) = filter(&[TOKEN.as_bytes(), b"data: {\"choi"]);
    assert_eq!((out, withheld), ([TOKEN, "data: {\"choi"].concat().into_bytes(), None));
    let (out, withheld) = filter(&[USAGE.trim_end().as_bytes()]);
    assert!(out.is_empty() && withheld.is_some());
}

#[test]
fn the_line_end_of_an_event_goes_with_it_wherever_it_is_cut() {
    let stream = [TOKEN, USAGE, DONE].concat().replace('\n', "\r\n");
    let want = [TOKEN, DONE].concat().replace('\n', "\r\n");
    for at in 0..stream.len() {
        let (head, tail) = stream.as_bytes().split_at(at);
        assert_eq!(String::from_utf8_lossy(&filter(&[head, tail]).0), want, "at {at}");
    }
}

#[test]
fn an_event_over_the_limit_is_let_go() {
    let large = format!("data: {{\"choices\":[{{\"text\":\"{}\"}}]}}\n\n", "x".repeat(200_000));
    let pieces: Vec<_> = large.as_bytes().chunks(10_000).chain([USAGE.as_bytes()]).collect();
    let (out, withheld) = filter(&pieces);
    assert!(out == large.as_bytes() && withheld.is_some());
}

proptest! {
    #[test]
    fn only_usage_events_are_taken_out_at_any_split(
        events in prop::collection::vec(
            prop::sample::select(vec![USAGE, TOKEN, DONE, ": ping\n\n", "event: x\n", "\n"]), 0..8,
        ),
        cuts in prop::collection::vec(any::<prop::sample::Index>(), 0..8),
    ) {
        let events = [events, vec!["\n"]].concat();
        let stream = events.concat();
        // A field line before an event belongs to it, and goes with it.
        let want = stream.replace(USAGE, "\u{0}");
        let want: String = want.split_inclusive('\u{0}').map(|part| match part.strip_suffix('\u{0}') {
            Some(kept) => kept.trim_end_matches("event: x\n"),
            None => part,
        }).collect();
        let mut at: Vec<_> = cuts.iter().map(|cut| cut.index(stream.len() + 1)).collect();
        at.sort_unstable();
        at.push(stream.len());
        let mut from = 0;
        let pieces: Vec<_> = at.iter().map(|&to| {
            let piece = &stream.as_bytes()[from..to];
            from = to;
            piece
        }).filter(|piece| !piece.is_empty()).collect();
        let (out, withheld) = filter(&pieces);
        prop_assert_eq!(String::from_utf8_lossy(&out), want);
        prop_assert_eq!(withheld.is_some(), stream.contains(USAGE));
    }
}
