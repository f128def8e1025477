//! Chat and completions: nearly every event is one text.

mod event;
mod lone;
mod names;
mod shape;
mod text;

pub use self::lone::LoneUsage;
use self::{
    event::{Event, is_worth_parsing},
    shape::Shape,
};
use super::{Asked, EventFacts, choices::Choices};
use crate::{Usage, usage::Stated};

/// What a stream of events has stated so far.
///
/// Counts are cumulative. With `continuous_usage_stats` each event has those of its choice so far;
/// an event without choices has those of the whole request.
#[derive(Debug, Default)]
pub(super) struct ChatTally {
    asked: Asked,
    shape: Shape,
    /// An event was read.
    begun: bool,
    model: Option<String>,
    choices: Choices<Choice>,
    whole: Option<Usage>,
    /// Text came after the last counts.
    stale: bool,
}

/// One choice so far.
#[derive(Debug, Default)]
struct Choice {
    usage: Usage,
    finish_reason: Option<String>,
    /// It has had text.
    begun: bool,
}

/// The facts of an event that holds one text and nothing else of interest.
const TEXT: EventFacts = EventFacts {
    terminal: false,
    error: false,
    text: true,
    tokens: 1,
    usage: None,
    malformed: false,
};

// === impl ChatTally ===

impl ChatTally {
    pub(super) fn new(asked: Asked) -> Self {
        Self { asked, ..Self::default() }
    }

    /// Reads one event. Most hold one text and nothing else of interest; those are told apart by
    /// their shape, or by a search for the few names that matter, without parsing and allocating.
    pub(super) fn read(&mut self, data: &[u8]) -> EventFacts {
        if self.shape.fits(data) {
            self.stale = true;
            return TEXT;
        }
        if let Some(done) = EventFacts::done(data) {
            return done;
        }
        let text = text::find(data);
        let plain = text.clone().filter(|_| !(self.asked.echo || is_worth_parsing(data)));
        if let Some(text) = plain.clone() {
            self.shape.keep(data, text);
            self.stale = true;
        }
        if plain.is_some() && self.begun {
            return TEXT;
        }
        self.begun = true;
        match Event::read(data) {
            Some(event) => self.take(event, text.is_some()),
            None => EventFacts {
                text: text.is_some(),
                tokens: u64::from(text.is_some()),
                ..EventFacts::MALFORMED
            },
        }
    }

    pub(super) fn usage(&self) -> Option<Usage> {
        let parts = self
            .choices
            .sum(self.asked.samples, |choice| choice.usage)
            .filter(|_| self.has_parts());
        let Some(whole) = self.whole else { return parts };
        // A single choice's details stand until the whole request's are stated.
        let parts = parts.filter(|_| self.choices.len() == 1);
        Some(parts.map_or(whole, |parts| parts.updated(whole)))
    }

    /// No text came after the counts, so they are those of all that was written so far.
    pub(super) fn is_current(&self) -> bool {
        !self.stale
    }

    /// The counts are those that end a stream.
    pub(super) fn is_final(&self) -> bool {
        self.whole.is_some_and(|whole| whole.completion.is_some()) && !self.stale
    }

    pub(super) fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    pub(super) fn finish_reasons(&self) -> impl Iterator<Item = &str> {
        self.choices.values().filter_map(|choice| choice.finish_reason.as_deref())
    }

    fn has_parts(&self) -> bool {
        self.choices.values().any(|choice| choice.usage != Usage::default())
    }

    fn take(&mut self, mut event: Event<'_>, text: bool) -> EventFacts {
        let (usage, malformed) = event.usage().counts(Stated::chat);
        self.model = self.model.take().or_else(|| event.model());
        let (error, choices) = (event.is_error(), event.into_choices());
        self.stale |= text;
        if let Some(usage) = usage {
            self.stale &= usage.completion.is_none();
            match choices.first().map(event::Choice::index) {
                None => self.whole = Some(self.whole.unwrap_or_default().updated(usage)),
                Some(index) => {
                    if let Some(choice) = self.choices.entry(index) {
                        choice.usage = choice.usage.updated(usage);
                    }
                }
            }
        }
        let mut tokens = 0;
        for choice in choices {
            tokens += self.take_choice(choice, text);
        }
        let tokens = tokens.max(u64::from(text && !self.asked.echo));
        EventFacts { terminal: false, error, text, tokens, usage, malformed }
    }

    /// Takes note of a choice's part of an event and gives how many tokens it lists.
    fn take_choice(&mut self, mut seen: event::Choice, text: bool) -> u64 {
        let listed = seen.listed();
        let Some(choice) = self.choices.entry(seen.index()) else { return listed };
        choice.finish_reason = seen.finish_reason().or(choice.finish_reason.take());
        if self.asked.echo {
            // The prompt comes as text of its own, or before the first of the model's.
            return u64::from(text && std::mem::replace(&mut choice.begun, true));
        }
        listed
    }
}

#[cfg(test)]
mod tests;
