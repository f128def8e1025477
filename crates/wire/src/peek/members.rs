//! The members of a request that matter, as written.

use std::{borrow::Cow, collections::BTreeMap, fmt, ops::Range};

use serde::{
    Deserialize, Deserializer,
    de::{IgnoredAny, MapAccess, Visitor},
};
use serde_json::value::RawValue;

use super::{Edit, STEERING_FIELDS, value};

/// The raw values of one pass over the body.
#[derive(Default)]
pub(super) struct Members<'a> {
    pub(super) stream: Option<&'a RawValue>,
    pub(super) echo: Option<&'a RawValue>,
    pub(super) steering: Option<&'static str>,
    pub(super) count: usize,
    model: Option<&'a RawValue>,
    messages: Option<&'a RawValue>,
    prompt_cache_key: Option<&'a RawValue>,
    session_id: Option<&'a RawValue>,
    user: Option<&'a RawValue>,
    stream_options: Option<&'a RawValue>,
    n: Option<&'a RawValue>,
    best_of: Option<&'a RawValue>,
    sampling_params: Option<&'a RawValue>,
    prompt: Option<&'a RawValue>,
    text: Option<&'a RawValue>,
    input_ids: Option<&'a RawValue>,
    input_embeds: Option<&'a RawValue>,
}

/// An object's members; of a name written twice the last stands.
type Object<'a> = BTreeMap<String, &'a RawValue>;

#[derive(Deserialize)]
struct Key<'a>(#[serde(borrow)] Cow<'a, str>);

// === impl Members ===

impl<'a> Members<'a> {
    pub(super) fn read(body: &'a [u8]) -> Result<Self, serde_json::Error> {
        let mut deserializer = serde_json::Deserializer::from_slice(body);
        let members = deserializer.deserialize_map(MembersVisitor)?;
        deserializer.end()?;
        Ok(members)
    }

    pub(super) fn model(&self) -> Option<String> {
        serde_json::from_str(self.model?.get()).ok()
    }

    /// The first member that names a session.
    pub(super) fn session(&self) -> Option<String> {
        let names = [self.prompt_cache_key, self.session_id, self.user];
        let mut names = names.into_iter().flatten();
        names.find_map(|raw| serde_json::from_str(raw.get()).ok())
    }

    /// Where the value of the prompt stands; nowhere if there is none.
    pub(super) fn prompt_in(&self, body: &[u8]) -> Range<usize> {
        let given = [self.messages, self.prompt, self.text, self.input_ids];
        given.into_iter().flatten().next().map_or(0..0, |raw| span_in(body, raw))
    }

    pub(super) fn choices(&self) -> u32 {
        let own = [self.n, self.best_of].into_iter().flatten().map(|raw| value::count(raw.get()));
        let sampling = self.sampling_params.map_or(1, |raw| sampling_choices(raw.get()));
        own.fold(sampling, u32::max)
    }

    /// `n`, or that of `/generate`. (`best_of` are tried, and only so many of them given.)
    pub(super) fn samples(&self) -> u32 {
        let native = || self.sampling_params.map_or(1, |raw| sampling_choices(raw.get()));
        self.n.map_or_else(native, |raw| value::count(raw.get()))
    }

    /// The length of a list of prompts, in the form of `/v1/completions`.
    pub(super) fn prompts(&self) -> Option<usize> {
        self.prompt.and_then(|raw| value::prompt_list(raw.get()))
    }

    /// The length of a list of prompts, in the form of `/generate`: the first of the three that is
    /// not null counts.
    pub(super) fn native_prompts(&self) -> Option<usize> {
        let given = |raw: Option<&'a RawValue>| raw.filter(|raw| raw.get() != "null");
        match (given(self.text).or(given(self.input_ids)), given(self.input_embeds)) {
            (Some(raw), _) => value::prompt_list(raw.get()),
            (None, embeds) => embeds.and_then(|raw| value::embedded_list(raw.get())),
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
        if options.get() == "null" {
            return edit(span, r#"{"include_usage":true}"#);
        }
        let Ok(members) = serde_json::from_str::<Object<'_>>(options.get()) else {
            return (None, None);
        };
        match members.get("include_usage") {
            None if members.is_empty() => {
                edit(span.start + 1..span.start + 1, r#""include_usage":true"#)
            }
            None => edit(span.start + 1..span.start + 1, r#""include_usage":true,"#),
            Some(given) => match value::truth(given.get()) {
                Some(true) => (Some(true), None),
                Some(false) => {
                    (Some(false), Some(Edit { range: span_in(body, given), with: "true" }))
                }
                None if given.get() == "null" => edit(span_in(body, given), "true"),
                None => (None, None),
            },
        }
    }

    fn put(&mut self, name: &str) -> Option<&mut Option<&'a RawValue>> {
        if let Some(field) = STEERING_FIELDS.into_iter().find(|&field| field == name) {
            self.steering.get_or_insert(field);
        }
        Some(match name {
            "model" => &mut self.model,
            "messages" => &mut self.messages,
            "prompt_cache_key" => &mut self.prompt_cache_key,
            "session_id" => &mut self.session_id,
            "user" => &mut self.user,
            "stream" => &mut self.stream,
            "echo" => &mut self.echo,
            "stream_options" => &mut self.stream_options,
            "n" => &mut self.n,
            "best_of" => &mut self.best_of,
            "sampling_params" => &mut self.sampling_params,
            "prompt" => &mut self.prompt,
            "text" => &mut self.text,
            "input_ids" => &mut self.input_ids,
            "input_embeds" => &mut self.input_embeds,
            _ => return None,
        })
    }
}

/// `sampling_params` is one object, or a list with one for each prompt.
fn sampling_choices(raw: &str) -> u32 {
    let all = serde_json::from_str::<Vec<Object<'_>>>(raw)
        .or_else(|_| serde_json::from_str(raw).map(|one| vec![one]))
        .unwrap_or_default();
    let counts = all.iter().filter_map(|params| params.get("n"));
    counts.map(|n| value::count(n.get())).max().unwrap_or(1)
}

/// Where in the body a value stands: it was borrowed from there.
fn span_in(body: &[u8], raw: &RawValue) -> Range<usize> {
    let start = raw.get().as_ptr().addr() - body.as_ptr().addr();
    start..start + raw.get().len()
}

struct MembersVisitor;

impl<'de> Visitor<'de> for MembersVisitor {
    type Value = Members<'de>;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("an object")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Self::Value, A::Error> {
        let mut members = Members::default();
        while let Some(Key(name)) = map.next_key()? {
            members.count += 1;
            match members.put(&name) {
                Some(place) => *place = Some(map.next_value()?),
                None => map.next_value::<IgnoredAny>().map(drop)?,
            }
        }
        Ok(members)
    }
}
