//! A stream of events, read as it passes.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::{
    answer::MetaInfo,
    event::{EventFacts, Members},
    shape::Shape,
};
use crate::{Endpoint, Usage, lenient::Lenient, sse::SseScanner};

/// Reads the events of one stream and keeps what it states.
///
/// Counts in a stream are cumulative on every endpoint, so the last ones stand and are never added:
/// the final usage event of chat and completions, the last `meta_info` of each prompt on
/// `/generate`.
#[derive(Debug)]
pub struct StreamReader {
    scanner: SseScanner,
    tally: Tally,
    model: Option<String>,
    /// A stream of this endpoint ends by `[DONE]`.
    has_marker: bool,
    terminal: bool,
    error: bool,
    malformed: u64,
    events: u64,
}

#[derive(Debug)]
enum Tally {
    /// Chat and completions, and whatever else speaks in their events.
    Last { usage: Option<Usage>, shape: Shape },
    /// `/generate`: the prompts of a batch take turns, told apart by their index.
    PerPrompt(BTreeMap<u64, Usage>),
}

/// One event of `/generate`: the text so far and its counts, or an error.
#[derive(Deserialize)]
struct GenerateMembers {
    #[serde(default)]
    index: u64,
    #[serde(default)]
    meta_info: Lenient<MetaInfo>,
    #[serde(default)]
    error: Option<serde::de::IgnoredAny>,
}

// === impl StreamReader ===

impl StreamReader {
    /// A reader for a stream of `endpoint`.
    pub fn new(endpoint: Endpoint) -> Self {
        let tally = match endpoint {
            Endpoint::Generate => Tally::PerPrompt(BTreeMap::new()),
            _ => Tally::Last { usage: None, shape: Shape::default() },
        };
        Self {
            scanner: SseScanner::default(),
            tally,
            model: None,
            has_marker: endpoint.is_paired(),
            terminal: false,
            error: false,
            malformed: 0,
            events: 0,
        }
    }

    /// Reads the next piece of the stream and calls `on_event` for each event that ends in it.
    pub fn push(&mut self, bytes: &[u8], mut on_event: impl FnMut(EventFacts)) {
        let Self { scanner, tally, model, has_marker: _, terminal, error, malformed, events } =
            self;
        scanner.push(bytes, |event| {
            if *events == 0 {
                *model = model_of(event.data);
            }
            *events += 1;
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
            Tally::Last { usage, .. } => *usage,
            Tally::PerPrompt(prompts) => prompts.values().copied().reduce(Usage::plus),
        }
    }

    /// The model that the first event names.
    pub fn model(&self) -> Option<&str> {
        self.model.as_deref()
    }

    /// Streams of this endpoint end by a terminal marker that is known here.
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
            Self::Last { usage, shape } => {
                let facts = shape.read(data);
                *usage = facts.usage.or(*usage);
                facts
            }
            Self::PerPrompt(prompts) => read_generate(prompts, data),
        }
    }
}

fn read_generate(prompts: &mut BTreeMap<u64, Usage>, data: &[u8]) -> EventFacts {
    if data.trim_ascii() == b"[DONE]" {
        return EventFacts { terminal: true, ..EventFacts::default() };
    }
    let Ok(event) = serde_json::from_slice::<GenerateMembers>(data) else {
        return EventFacts { malformed: true, ..EventFacts::default() };
    };
    let mut facts = EventFacts { error: event.error.is_some(), ..EventFacts::default() };
    let Some(meta) = event.meta_info.0 else {
        return facts;
    };
    facts.error |= meta.aborted();
    facts.usage = meta.usage();
    if let Some(usage) = facts.usage {
        let before = prompts.insert(event.index, usage);
        facts.text = usage.completion > before.and_then(|usage| usage.completion).or(Some(0));
    }
    facts
}

fn model_of(data: &[u8]) -> Option<String> {
    let members = serde_json::from_slice::<Members>(data).ok()?;
    members.model.0.flatten()
}

#[cfg(test)]
mod tests {
    use super::StreamReader;
    use crate::{Endpoint, Usage};

    fn read(endpoint: Endpoint, stream: &str) -> (StreamReader, usize) {
        let mut reader = StreamReader::new(endpoint);
        let mut texts = 0;
        reader.push(stream.as_bytes(), |facts| texts += usize::from(facts.text));
        reader.finish(|facts| texts += usize::from(facts.text));
        (reader, texts)
    }

    fn usage(prompt: u64, completion: u64) -> Usage {
        Usage { prompt: Some(prompt), completion: Some(completion), ..Usage::default() }
    }

    #[test]
    fn counts_in_every_chunk_are_not_added() {
        let chunk = |n| {
            format!(
                "data: {{\"model\":\"m\",\"choices\":[{{\"text\":\"x\"}}],\"usage\":{{\"prompt_tokens\":4,\"completion_tokens\":{n}}}}}\n\n"
            )
        };
        let stream = [chunk(1), chunk(2), chunk(3)].concat() + "data: [DONE]\n\n";
        let (reader, texts) = read(Endpoint::Completions, &stream);
        assert_eq!((reader.usage(), texts), (Some(usage(4, 3)), 3));
        assert_eq!((reader.model(), reader.is_terminated()), (Some("m"), true));
    }

    #[test]
    fn the_prompts_of_a_generate_batch_are_added_once_each() {
        let event = |index, prompt, completion| {
            format!(
                "data: {{\"index\":{index},\"text\":\"x\",\"meta_info\":{{\"finish_reason\":null,\"prompt_tokens\":{prompt},\"completion_tokens\":{completion},\"cached_tokens\":1}}}}\n\n"
            )
        };
        let stream =
            [event(0, 4, 1), event(1, 5, 1), event(1, 5, 2), event(0, 4, 2), event(0, 4, 2)];
        let (reader, texts) = read(Endpoint::Generate, &stream.concat());
        assert_eq!(reader.usage(), Some(Usage { cached: Some(2), ..usage(9, 4) }));
        assert_eq!((texts, reader.is_terminated()), (4, false));
    }

    #[test]
    fn errors_of_the_engine_are_seen() {
        for (endpoint, data) in [
            (Endpoint::Chat, r#"{"error":{"message":"no room","code":400}}"#),
            (Endpoint::Generate, r#"{"error":{"message":"no room"}}"#),
            (Endpoint::Generate, r#"{"text":"","meta_info":{"finish_reason":{"type":"abort"}}}"#),
        ] {
            let (reader, _) = read(endpoint, &format!("data: {data}\n\ndata: [DONE]\n\n"));
            assert!(reader.has_error() && reader.is_terminated(), "{data}");
            assert_eq!(reader.malformed(), 0);
        }
    }

    #[test]
    fn what_cannot_be_read_is_counted() {
        for endpoint in [Endpoint::Chat, Endpoint::Generate] {
            let (reader, _) = read(endpoint, "data: {\"usage\":{\"prompt_tokens\n\n");
            assert_eq!((reader.malformed(), reader.usage()), (1, None));
        }
    }
}
