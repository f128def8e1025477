//! A stream of events, read as it passes.

use super::{
    Asked, EventFacts, chat::ChatTally, generate::GenerateTally, messages::MessagesTally,
    responses::ResponsesTally,
};
use crate::{Endpoint, Usage, sse::SseScanner};

/// Reads the events of one stream and keeps what it states.
///
/// Counts in a stream are cumulative on every endpoint, so the last ones stand and are never added.
#[derive(Debug)]
pub struct StreamReader {
    scanner: SseScanner,
    tally: Tally,
    /// A stream of this endpoint ends by a marker.
    has_marker: bool,
    terminal: bool,
    error: bool,
    malformed: u64,
}

/// What has been stated so far, by the format of the events.
#[derive(Debug)]
enum Tally {
    /// And whatever else speaks in the events of chat.
    Chat(ChatTally),
    Generate(GenerateTally),
    Responses(ResponsesTally),
    Messages(MessagesTally),
}

// === impl StreamReader ===

impl StreamReader {
    /// A reader for a stream of `endpoint`, of which so much was asked.
    pub fn new(endpoint: Endpoint, asked: Asked) -> Self {
        Self {
            scanner: SseScanner::default(),
            tally: match endpoint {
                Endpoint::Generate => Tally::Generate(GenerateTally::new(asked)),
                Endpoint::Responses => Tally::Responses(ResponsesTally::default()),
                Endpoint::Messages => Tally::Messages(MessagesTally::default()),
                _ => Tally::Chat(ChatTally::new(asked)),
            },
            has_marker: endpoint.has_marker(),
            terminal: false,
            error: false,
            malformed: 0,
        }
    }

    /// Reads the next piece of the stream and calls `on_event` for each event that ends in it.
    pub fn push(&mut self, bytes: &[u8], mut on_event: impl FnMut(EventFacts)) {
        let Self { scanner, tally, has_marker: _, terminal, error, malformed } = self;
        scanner.push(bytes, |event| {
            let facts = tally.read(event.data);
            *terminal |= facts.terminal;
            *error |= facts.error;
            *malformed += u64::from(facts.malformed);
            on_event(facts);
        });
    }

    /// The stream ended: reads an event that lacks only its blank line.
    pub fn finish(&mut self, mut on_event: impl FnMut(EventFacts)) {
        self.push(b"\n\n", &mut on_event);
    }

    /// The counts stated last, if any.
    pub fn usage(&self) -> Option<Usage> {
        match &self.tally {
            Tally::Chat(chat) => chat.usage(),
            Tally::Generate(generate) => generate.usage(),
            Tally::Responses(responses) => responses.usage(),
            Tally::Messages(messages) => messages.usage(),
        }
    }

    /// Those counts are of all that was written: the stream ended with them, or they are of the kind
    /// that comes once all is written.
    pub fn is_final(&self) -> bool {
        match &self.tally {
            Tally::Chat(chat) => chat.is_final() || (self.terminal && chat.is_current()),
            Tally::Generate(generate) => generate.is_final() || self.terminal,
            Tally::Responses(responses) => responses.is_final(),
            Tally::Messages(messages) => {
                messages.is_final() || (self.terminal && messages.is_current())
            }
        }
    }

    /// The model that the events name.
    pub fn model(&self) -> Option<&str> {
        match &self.tally {
            Tally::Chat(chat) => chat.model(),
            Tally::Generate(_) => None,
            Tally::Responses(responses) => responses.model(),
            Tally::Messages(messages) => messages.model(),
        }
    }

    /// Why each choice ended, in the order of the choices.
    pub fn finish_reasons(&self) -> Vec<String> {
        let owned = str::to_owned;
        match &self.tally {
            Tally::Chat(chat) => chat.finish_reasons().map(owned).collect(),
            Tally::Generate(generate) => generate.finish_reasons().map(owned).collect(),
            Tally::Responses(responses) => {
                responses.finish_reason().map(owned).into_iter().collect()
            }
            Tally::Messages(messages) => messages.finish_reason().map(owned).into_iter().collect(),
        }
    }

    /// Streams of this endpoint end by a terminal marker.
    pub fn has_marker(&self) -> bool {
        self.has_marker
    }

    /// The terminal marker was seen.
    pub fn is_terminated(&self) -> bool {
        self.terminal
    }

    /// An error of the engine was seen.
    pub fn has_error(&self) -> bool {
        self.error
    }

    /// Events that could not be read, too large ones included.
    pub fn malformed(&self) -> u64 {
        self.malformed + self.scanner.oversized()
    }
}

// === impl Tally ===

impl Tally {
    fn read(&mut self, data: &[u8]) -> EventFacts {
        match self {
            Self::Chat(chat) => chat.read(data),
            Self::Generate(generate) => generate.read(data),
            Self::Responses(responses) => responses.read(data),
            Self::Messages(messages) => messages.read(data),
        }
    }
}
