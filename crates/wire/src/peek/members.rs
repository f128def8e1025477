//! The members of a request that matter, as written.

use std::{borrow::Cow, fmt, ops::Range};

use serde::{
    Deserialize, Deserializer,
    de::{Error, IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{Edit, STEERING_FIELDS, value};
use crate::json::{Json, span_in};

/// The raw values of one pass over the body.
#[derive(Default)]
pub(super) struct Members<'a> {
    pub(super) stream: Option<&'a [u8]>,
    pub(super) echo: Option<&'a [u8]>,
    pub(super) steering: Option<&'static str>,
    pub(super) count: usize,
    model: Option<&'a [u8]>,
    messages: Option<&'a [u8]>,
    prompt_cache_key: Option<&'a [u8]>,
    session_id: Option<&'a [u8]>,
    user: Option<&'a [u8]>,
    stream_options: Option<&'a [u8]>,
    n: Option<&'a [u8]>,
    best_of: Option<&'a [u8]>,
    sampling_params: Option<&'a [u8]>,
    prompt: Option<&'a [u8]>,
    text: Option<&'a [u8]>,
    input_ids: Option<&'a [u8]>,
    input_embeds: Option<&'a [u8]>,
}

#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

// === impl Members ===

impl<'a> Members<'a> {
    pub(super) fn read(body: &'a [u8]) -> Result<Self, serde_json::Error> {
        let read = Json::whole(body, |json| {
            let members = json.members(Self::note)?;
            json.is_utf8().then_some(members)
        });
        read.ok_or_else(|| refusal(body))
    }

    pub(super) fn model(&self) -> Option<String> {
        value::text(self.model?)
    }

    /// The first member that names a session; an empty name is none.
    pub(super) fn session(&self) -> Option<String> {
        let names = [self.prompt_cache_key, self.session_id, self.user];
        let mut names = names.into_iter().flatten().filter_map(value::text);
        names.find(|name| !name.is_empty())
    }

    /// Where the value of the prompt stands; nowhere if there is none.
    pub(super) fn prompt_in(&self, body: &[u8]) -> Range<usize> {
        let given = [self.messages, self.prompt, self.text, self.input_ids];
        given.into_iter().flatten().next().map_or(0..0, |raw| span_in(body, raw))
    }

    pub(super) fn choices(&self) -> u32 {
        let own = [self.n, self.best_of].into_iter().flatten().map(value::count);
        let sampling = self.sampling_params.map_or(1, sampling_choices);
        own.fold(sampling, u32::max)
    }

    /// `n`, or that of `/generate`. (`best_of` are tried, and only so many of them given.)
    pub(super) fn samples(&self) -> u32 {
        let native = || self.sampling_params.map_or(1, sampling_choices);
        self.n.map_or_else(native, value::count)
    }

    /// The length of a list of prompts, in the form of `/v1/completions`.
    pub(super) fn prompts(&self) -> Option<usize> {
        self.prompt.and_then(value::prompt_list)
    }

    /// The length of a list of prompts, in the form of `/generate`: the first of the three that is
    /// not null counts.
    pub(super) fn native_prompts(&self) -> Option<usize> {
        let given = |raw: Option<&'a [u8]>| raw.filter(|raw| *raw != b"null");
        match (given(self.text).or(given(self.input_ids)), given(self.input_embeds)) {
            (Some(raw), _) => value::prompt_list(raw),
            (None, embeds) => embeds.and_then(value::embedded_list),
        }
    }

    /// What `stream_options.include_usage` says, and the edit that makes it true.
    pub(super) fn include_usage(&self, body: &[u8], open: usize) -> (Option<bool>, Option<Edit>) {
        let edit = |range, with| (None, Some(Edit { range, with }));
        let Some(options) = self.stream_options else {
            return edit(
                open + 1..open + 1,
                match self.count {
                    0 => r#""stream_options":{"include_usage":true}"#,
                    _ => r#""stream_options":{"include_usage":true},"#,
                },
            );
        };
        let span = span_in(body, options);
        if options == b"null" {
            return edit(span, r#"{"include_usage":true}"#);
        }
        let (mut count, mut given) = (0, None);
        let read = Json::whole(options, |json| {
            json.object(|json, name| {
                count += 1;
                let value = json.raw()?;
                given = if name == b"include_usage" { Some(value) } else { given };
                Some(())
            })
        });
        if read.is_none() {
            return (None, None);
        }
        match given {
            None if count == 0 => edit(span.start + 1..span.start + 1, r#""include_usage":true"#),
            None => edit(span.start + 1..span.start + 1, r#""include_usage":true,"#),
            Some(given) => match value::truth(given) {
                Some(true) => (Some(true), None),
                Some(false) => {
                    (Some(false), Some(Edit { range: span_in(body, given), with: "true" }))
                }
                None if given == b"null" => edit(span_in(body, given), "true"),
                None => (None, None),
            },
        }
    }

    fn note(&mut self, json: &mut Json<'a>, name: &[u8]) -> Option<()> {
        self.count += 1;
        match self.put(name) {
            Some(place) => *place = Some(json.raw()?),
            None => json.skip()?,
        }
        Some(())
    }

    fn put(&mut self, name: &[u8]) -> Option<&mut Option<&'a [u8]>> {
        if let Some(field) = STEERING_FIELDS.into_iter().find(|field| field.as_bytes() == name) {
            self.steering.get_or_insert(field);
        }
        Some(match name {
            b"model" => &mut self.model,
            b"messages" => &mut self.messages,
            b"prompt_cache_key" => &mut self.prompt_cache_key,
            b"session_id" => &mut self.session_id,
            b"user" => &mut self.user,
            b"stream" => &mut self.stream,
            b"echo" => &mut self.echo,
            b"stream_options" => &mut self.stream_options,
            b"n" => &mut self.n,
            b"best_of" => &mut self.best_of,
            b"sampling_params" => &mut self.sampling_params,
            b"prompt" => &mut self.prompt,
            b"text" => &mut self.text,
            b"input_ids" => &mut self.input_ids,
            b"input_embeds" => &mut self.input_embeds,
            _ => return None,
        })
    }
}

/// `sampling_params` is one object, or a list with one for each prompt.
fn sampling_choices(raw: &[u8]) -> u32 {
    let mut most = None;
    let mut params = |json: &mut Json<'_>| {
        let mut n = None;
        json.object(|json, name| {
            let value = json.raw()?;
            n = if name == b"n" { Some(value) } else { n };
            Some(())
        })?;
        most = most.max(n.map(value::count));
        Some(())
    };
    let read = Json::whole(raw, |json| match json.peek()? {
        b'[' => json.list(params),
        _ => params(json),
    });
    read.and(most).unwrap_or(1)
}

/// Why a body that could not be read could not be: what `serde_json` finds in it.
#[cold]
fn refusal(body: &[u8]) -> serde_json::Error {
    let mut deserializer = serde_json::Deserializer::from_slice(body);
    let found = deserializer.deserialize_map(Refusal).and_then(|()| deserializer.end());
    found.err().unwrap_or_else(|| match std::str::from_utf8(body) {
        Err(error) => Error::custom(error),
        Ok(_) => Error::custom("it cannot be read"),
    })
}

struct Refusal;

impl<'de> Visitor<'de> for Refusal {
    type Value = ();

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<(), A::Error> {
        while let Some(Key(name)) = map.next_key()? {
            match Members::default().put(name.as_bytes()) {
                Some(_) => map.next_value::<&RawValue>().map(drop)?,
                None => map.next_value::<IgnoredAny>().map(drop)?,
            }
        }
        Ok(())
    }
}
