use super::{event::Event, names, text};
use crate::{Usage, usage::Stated};

/// The counts of the events that an engine sends because of `stream_options.include_usage`: those
/// with counts and an empty list of choices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LoneUsage {
    usage: Option<Usage>,
    malformed: u64,
    /// Text came after the last counts.
    stale: bool,
}

// === impl LoneUsage ===

impl LoneUsage {
    /// Looks at the next event of a stream: whether it is one of those. If so, its counts are noted.
    pub fn read(&mut self, data: &[u8]) -> bool {
        let has_counts = names::values(&names::USAGE, data).any(|value| value.starts_with(b"{"));
        let field = match has_counts.then(|| Event::read(data)) {
            Some(None) => return false,
            Some(Some(event)) if event.choices().is_some_and(<[_]>::is_empty) => event.usage(),
            _ => {
                self.stale |= self.usage.is_some() && text::find(data).is_some();
                return false;
            }
        };
        let (usage, malformed) = field.counts(Stated::chat);
        self.malformed += u64::from(malformed);
        if let Some(usage) = usage {
            self.usage = Some(self.usage.unwrap_or_default().updated(usage));
            self.stale &= usage.completion.is_none();
        }
        true
    }

    /// The counts stated last.
    pub fn usage(&self) -> Option<Usage> {
        self.usage
    }

    /// They are those that end a stream: no text came after them.
    pub fn is_final(&self) -> bool {
        self.usage.is_some_and(|usage| usage.completion.is_some()) && !self.stale
    }

    /// Events whose counts could not be read.
    pub fn malformed(&self) -> u64 {
        self.malformed
    }
}
