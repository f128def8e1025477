//! A reply of either form, read piece by piece.

use bytes::Bytes;

use super::{Asked, EventFacts, LoneUsage, StreamReader, read_answer};
use crate::{Endpoint, Usage, edit::Gather};

/// How many bytes of a JSON answer are kept until its end, to be read then: 32 MiB.
const MAX_ANSWER: usize = 32 << 20;

/// Reads one reply. What it keeps is bounded.
#[derive(Debug)]
pub struct ReplyReader(Form);

#[derive(Debug)]
enum Form {
    Stream(Box<StreamReader>),
    Answer { endpoint: Endpoint, asked: Asked, body: Gather },
    TooLarge,
}

/// What a reply states, all in all.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Reply {
    /// The model it names.
    pub model: Option<String>,
    /// The counts stated last.
    pub usage: Option<Usage>,
    /// Those are of all that was written: the engine's final numbers.
    pub is_final: bool,
    /// It holds an error of the engine.
    pub error: bool,
    /// Parts that should have held counts and could not be read, and counts that contradict each
    /// other.
    pub malformed: u64,
    /// Why each choice ended.
    pub finish_reasons: Vec<String>,
    /// It came to its own end: a stream to its terminal marker, if it has one.
    pub terminated: bool,
    /// It was too large to be read.
    pub unreadable: bool,
}

// === impl ReplyReader ===

impl ReplyReader {
    /// A reader for a reply of `endpoint`, of which so much was asked; see [`is_event_stream`] for
    /// its form.
    pub fn new(endpoint: Endpoint, asked: Asked, is_stream: bool) -> Self {
        Self(if is_stream {
            Form::Stream(Box::new(StreamReader::new(endpoint, asked)))
        } else {
            Form::Answer { endpoint, asked, body: Gather::default() }
        })
    }

    /// Reads the next piece and calls `on_event` for each event of a stream that ends in it.
    pub fn push(&mut self, piece: &Bytes, on_event: impl FnMut(EventFacts)) {
        match &mut self.0 {
            Form::Stream(stream) => stream.push(piece, on_event),
            Form::Answer { body, .. } if body.len() + piece.len() > MAX_ANSWER => {
                self.0 = Form::TooLarge;
            }
            Form::Answer { body, .. } => body.push(piece.clone(), 0),
            Form::TooLarge => {}
        }
    }

    /// The terminal marker was seen: nothing more is to come.
    pub fn is_terminated(&self) -> bool {
        matches!(&self.0, Form::Stream(stream) if stream.is_terminated())
    }

    /// What it states, now that nothing more comes. `whole` says whether that is its own end: an
    /// answer that broke off is not read.
    pub fn finish(&mut self, whole: bool, on_event: impl FnMut(EventFacts)) -> Reply {
        let mut reply = match &mut self.0 {
            Form::Stream(stream) => {
                stream.finish(on_event);
                let usage = stream.usage();
                Reply {
                    model: stream.model().map(str::to_owned),
                    usage,
                    is_final: usage.is_some() && stream.is_final(),
                    error: stream.has_error(),
                    malformed: stream.malformed(),
                    finish_reasons: stream.finish_reasons(),
                    terminated: stream.is_terminated() || (whole && !stream.has_marker()),
                    unreadable: false,
                }
            }
            Form::Answer { endpoint, asked, body } if whole && !body.is_empty() => {
                read(*endpoint, *asked, &std::mem::take(body).into_bytes())
            }
            Form::Answer { .. } => Reply { terminated: whole, ..Reply::default() },
            Form::TooLarge => Reply { terminated: whole, unreadable: true, ..Reply::default() },
        };
        reply.malformed += u64::from(!reply.usage.is_none_or(Usage::is_consistent));
        reply
    }
}

// === impl Reply ===

impl Reply {
    /// Adds what the events stated that were taken out before the reply came here.
    pub fn add(&mut self, lone: &LoneUsage) {
        if let Some(usage) = lone.usage() {
            self.usage = Some(self.usage.unwrap_or_default().updated(usage));
            self.is_final = lone.is_final();
            self.malformed += u64::from(!usage.is_consistent());
        }
        self.malformed += lone.malformed();
    }
}

/// Whether a `content-type` is that of a stream of events.
pub fn is_event_stream(content_type: &[u8]) -> bool {
    let essence = content_type.split(|&byte| byte == b';').next().unwrap_or_default();
    essence.trim_ascii().eq_ignore_ascii_case(b"text/event-stream")
}

/// Whether the values of `content-encoding` name any encoding of a body, which can then not be read.
pub fn is_encoded<'a>(values: impl IntoIterator<Item = &'a [u8]>) -> bool {
    let mut encodings = values.into_iter().flat_map(|value| value.split(|&byte| byte == b','));
    encodings.any(|encoding| {
        let encoding = encoding.trim_ascii();
        !(encoding.is_empty() || encoding.eq_ignore_ascii_case(b"identity"))
    })
}

fn read(endpoint: Endpoint, asked: Asked, body: &[u8]) -> Reply {
    let answer = read_answer(endpoint, asked, body);
    Reply {
        model: answer.model,
        usage: answer.usage,
        is_final: answer.usage.is_some(),
        error: answer.error,
        malformed: u64::from(answer.malformed),
        finish_reasons: answer.finish_reasons,
        terminated: true,
        unreadable: false,
    }
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;

    use super::{MAX_ANSWER, Reply, ReplyReader, is_event_stream};
    use crate::{
        Endpoint, Usage,
        reply::{Asked, LoneUsage},
    };

    fn read(pieces: &[&[u8]], whole: bool) -> Reply {
        let mut reader = ReplyReader::new(Endpoint::Chat, Asked::default(), false);
        for piece in pieces {
            reader.push(&Bytes::copy_from_slice(piece), |_| {});
        }
        reader.finish(whole, |_| {})
    }

    #[test]
    fn an_answer_in_pieces_is_read_at_its_end() {
        let pieces: [&[u8]; 2] = [b"{\"usage\":{\"prompt_to", b"kens\":7}}"];
        let usage = Some(Usage { prompt: Some(7), ..Usage::default() });
        let want = Reply { usage, is_final: true, terminated: true, ..Reply::default() };
        assert_eq!(read(&pieces, true), want);
        assert_eq!(read(&pieces[..1], false), Reply::default());
        assert_eq!(read(&[], true), Reply { terminated: true, ..Reply::default() });
    }

    #[test]
    fn what_was_taken_out_is_added() {
        let mut reader = ReplyReader::new(Endpoint::Chat, Asked::default(), true);
        let token = b"data: {\"choices\":[{\"delta\":{\"content\":\"x\"}}],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":1,\"prompt_tokens_details\":{\"cached_tokens\":8}}}\n\n";
        reader.push(&Bytes::from_static(token), |_| {});
        let mut reply = reader.finish(false, |_| {});
        assert!(
            !reply.is_final && reply.malformed == 1,
            "cached is more than there was: {reply:?}"
        );
        let mut lone = LoneUsage::default();
        lone.read(br#"{"choices":[],"usage":{"prompt_tokens":7,"completion_tokens":3}}"#);
        reply.add(&lone);
        let usage =
            Usage { prompt: Some(7), completion: Some(3), cached: Some(8), reasoning: None };
        assert_eq!((reply.usage, reply.is_final), (Some(usage), true));
    }

    #[test]
    fn an_answer_over_the_limit_is_not_kept() {
        let half = vec![b' '; MAX_ANSWER / 2 + 1];
        assert!(read(&[&half, &half, b"{}"], true).unreadable);
    }

    #[test]
    fn streams_are_told_by_their_type() {
        for (content_type, want) in [
            ("text/event-stream", true),
            ("Text/Event-Stream ; charset=utf-8", true),
            ("application/json", false),
            ("text/event-streams", false),
            ("", false),
        ] {
            assert_eq!(is_event_stream(content_type.as_bytes()), want, "{content_type}");
        }
    }
}
