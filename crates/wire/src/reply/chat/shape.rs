//! Events that are like the last one but for their text: nearly all of a stream.

use std::ops::Range;

use super::text;

/// The last event that held one text and nothing else of interest.
///
/// An event with the same bytes before and after its text says the same as it did, so it needs no
/// search: that is a quarter of the cost of one.
#[derive(Debug, Default)]
pub(super) struct Shape {
    event: Vec<u8>,
    text: Range<usize>,
}

// === impl Shape ===

impl Shape {
    /// Whether the event is like the one kept.
    pub(super) fn fits(&self, data: &[u8]) -> bool {
        let Self { event, text } = self;
        let rest = data.strip_prefix(&event[..text.start]);
        let inside = rest.and_then(|rest| rest.strip_suffix(&event[text.end..]));
        let inside = inside.filter(|inside| !event.is_empty() && !inside.is_empty());
        inside.is_some_and(text::is_inside)
    }

    /// Keeps an event that holds nothing but a text, which stands there.
    pub(super) fn keep(&mut self, data: &[u8], text: Range<usize>) {
        self.event.clear();
        self.event.extend_from_slice(data);
        self.text = text;
    }
}
