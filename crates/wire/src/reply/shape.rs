//! Events that are like the last one but for their text: nearly all of a stream.

use std::ops::Range;

use super::{EventFacts, text};

/// The last event that held one text and nothing else of interest.
///
/// An event with the same bytes before and after its text says the same as it did, so it needs no
/// search: that is a quarter of the cost of [`EventFacts::read`].
#[derive(Debug, Default)]
pub(super) struct Shape {
    event: Vec<u8>,
    text: Range<usize>,
}

const TEXT_ONLY: EventFacts =
    EventFacts { terminal: false, error: false, text: true, usage: None, malformed: false };

// === impl Shape ===

impl Shape {
    /// Reads an event, and keeps it as the shape for the next if it holds nothing but text.
    pub(super) fn read(&mut self, data: &[u8]) -> EventFacts {
        if self.fits(data) {
            return TEXT_ONLY;
        }
        let facts = EventFacts::read(data);
        if facts == TEXT_ONLY {
            self.keep(data);
        }
        facts
    }

    fn fits(&self, data: &[u8]) -> bool {
        let Self { event, text } = self;
        let rest = data.strip_prefix(&event[..text.start]);
        let inside = rest.and_then(|rest| rest.strip_suffix(&event[text.end..]));
        let inside = inside.filter(|inside| !event.is_empty() && !inside.is_empty());
        inside.is_some_and(text::is_inside)
    }

    fn keep(&mut self, data: &[u8]) {
        if let Some(text) = text::find(data) {
            self.event.clear();
            self.event.extend_from_slice(data);
            self.text = text;
        }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::{EventFacts, Shape};

    fn event(before: &str, text: &str, after: &str) -> String {
        format!("{{{before}\"choices\":[{{\"delta\":{{\"content\":{text}}}}}]{after}}}")
    }

    proptest! {
        #[test]
        fn a_shape_changes_no_answer(
            events in prop::collection::vec(
                (
                    prop::sample::select(vec!["", "\"id\":1,", "\"id\":2,"]),
                    ".{0,6}",
                    prop::sample::select(vec![
                        "", ",\"usage\":null", ",\"usage\":{\"prompt_tokens\":1}", ",\"error\":{}",
                    ]),
                ),
                1..12,
            ),
        ) {
            let mut shape = Shape::default();
            for (before, text, after) in events {
                let text = serde_json::to_string(&text).unwrap();
                let data = event(before, &text, after);
                prop_assert_eq!(shape.read(data.as_bytes()), EventFacts::read(data.as_bytes()));
            }
        }

        #[test]
        fn nor_for_events_that_are_no_json(text in "[\"\\\\a,:{}]{0,8}") {
            let mut shape = Shape::default();
            shape.read(event("", "\"x\"", "").as_bytes());
            let data = event("", &format!("\"{text}\""), "");
            prop_assert_eq!(shape.read(data.as_bytes()), EventFacts::read(data.as_bytes()));
        }
    }
}
