//! What a request says, in one pass over its bytes.
//!
//! The body is not kept as a value: the pass notes the few members that decide how a request is
//! routed and accounted for, and where in the bytes an edit would go. Of a member written twice the
//! last stands, as in the engines' own parsers. Values may have any type; the engine is the one to
//! refuse them.

mod members;
mod value;

use std::{
    ops::Range,
    sync::{Arc, Mutex, OnceLock, PoisonError},
};

use bytes::Bytes;

use self::members::Members;
use crate::{Endpoint, Splice, Upstream, reply::Asked};

/// Members that tell an engine which peer, rank or KV transfer to use. In a client's body they
/// would reach into the cluster (one of them kills a decode server), so a router refuses them.
pub const STEERING_FIELDS: [&str; 8] = [
    "bootstrap_host",
    "bootstrap_port",
    "bootstrap_room",
    "bootstrap_pair_key",
    "routed_dp_rank",
    "disagg_prefill_dp_rank",
    "data_parallel_rank",
    "kv_transfer_params",
];

/// What a request says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RequestPeek {
    /// The model asked for.
    pub model: Option<String>,
    /// Whether the answer is to be a stream.
    pub stream: bool,
    /// `stream_options.include_usage`, where it is given.
    pub include_usage: Option<bool>,
    /// How many answers each prompt is to get: the largest of `n`, `best_of` and
    /// `sampling_params.n`. 1 unless given.
    pub choices: u32,
    /// The first of the [`STEERING_FIELDS`] that it has.
    pub steering: Option<&'static str>,
    /// Where the body's `{` stands.
    pub open: usize,
    /// The body has no members.
    pub empty: bool,
    /// Who the client says it asks for, by a member that stays the same from request to request:
    /// `prompt_cache_key`, `session_id` or `user`.
    pub session: Option<String>,
    /// How many answers each prompt gets: `n`, or `sampling_params.n`. 1 unless given.
    samples: u32,
    /// The answer is to repeat the prompt.
    echo: bool,
    prompts: Option<usize>,
    native_prompts: Option<usize>,
    /// Where the prompt's value stands, and how long the body is.
    prompt: Range<usize>,
    length: usize,
    /// The edit that makes `include_usage` true, where it is not.
    ask_usage: Option<Edit>,
}

/// Bytes to put in the place of others.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Edit {
    range: Range<usize>,
    with: &'static str,
}

/// The body is not a JSON object.
#[derive(Debug, thiserror::Error)]
#[error("the request body is not a JSON object: {0}")]
pub struct PeekError(#[from] serde_json::Error);

/// A place for what is learnt of one request, so that it is read once.
///
/// The outermost service that cares puts an empty slot into the request's extensions; whoever holds
/// the body first fills it; everybody reads it, also when the request fails.
#[derive(Clone, Debug, Default)]
pub struct PeekSlot(Arc<Learnt>);

#[derive(Debug, Default)]
struct Learnt {
    peek: OnceLock<Result<RequestPeek, PeekError>>,
    served_model: OnceLock<Arc<str>>,
    id: OnceLock<Arc<str>>,
    upstream: Mutex<Option<Upstream>>,
}

// === impl RequestPeek ===

impl RequestPeek {
    /// Reads a request's body.
    ///
    /// # Errors
    ///
    /// Where the body is not one JSON object (a byte order mark and `NaN` are not JSON).
    pub fn read(body: &[u8]) -> Result<Self, PeekError> {
        let members = Members::read(body)?;
        let open = body.iter().position(|&byte| byte == b'{').unwrap_or_default();
        let (include_usage, ask_usage) = members.include_usage(body, open);
        Ok(Self {
            model: members.model(),
            stream: members.stream.and_then(value::truth) == Some(true),
            include_usage,
            choices: members.choices(),
            samples: members.samples(),
            echo: members.echo.and_then(value::truth) == Some(true),
            prompts: members.prompts(),
            native_prompts: members.native_prompts(),
            steering: members.steering,
            session: members.session(),
            prompt: members.prompt_in(body),
            length: body.len(),
            open,
            empty: members.count == 0,
            ask_usage,
        })
    }

    /// How many prompts there are: `None` for a single one, the length where it is a list of texts, of
    /// token lists or of embedded prompts. (One list of numbers is one prompt.)
    pub fn prompts(&self, endpoint: Endpoint) -> Option<usize> {
        match endpoint {
            Endpoint::Completions => self.prompts,
            Endpoint::Generate => self.native_prompts,
            _ => None,
        }
    }

    /// The prompt as it is written: the value of `messages`, `prompt`, `text` or `input_ids`, or the
    /// beginning of it, at most `limit` bytes. `body` is what was read, perhaps
    /// [`with_usage_asked`](Self::with_usage_asked). Empty if there is none.
    pub fn prompt_of<'a>(&self, body: &'a Splice, limit: usize) -> &'a [u8] {
        let edit = self.ask_usage.as_ref().filter(|_| body.len() != self.length);
        let is_before = edit.is_some_and(|edit| edit.range.start <= self.prompt.start);
        let shift = if is_before { body.len().saturating_sub(self.length) } else { 0 };
        body.run_at(self.prompt.start + shift, limit.min(self.prompt.len()))
    }

    /// About how many tokens the prompt has: one for four bytes.
    pub fn estimated_tokens(&self) -> u64 {
        self.prompt.len() as u64 / 4
    }

    /// What decides how the reply of `endpoint` is to be read.
    pub fn asked(&self, endpoint: Endpoint) -> Asked {
        let prompts = self.prompts(endpoint).unwrap_or(1) as u64;
        let echo = self.echo && endpoint == Endpoint::Completions;
        Asked { prompts, samples: self.samples.into(), echo }
    }

    /// The answer will be a stream with counts that the client did not ask for, if the engine gets
    /// [`with_usage_asked`](Self::with_usage_asked).
    pub fn usage_is_to_be_asked(&self) -> bool {
        self.stream && self.ask_usage.is_some()
    }

    /// The body with `stream_options.include_usage` true, or `None` where nothing is to be changed:
    /// it is true already, or the client gave something that only the engine can judge.
    pub fn with_usage_asked(&self, body: &Bytes) -> Option<Splice> {
        let Edit { range, with } = self.ask_usage.clone()?;
        Some(Splice::from(body.clone()).replace(range, Bytes::from_static(with.as_bytes())))
    }
}

// === impl PeekSlot ===

impl PeekSlot {
    /// The peek, made from `body` if nobody has made it yet.
    ///
    /// # Errors
    ///
    /// As [`RequestPeek::read`].
    pub fn read(&self, body: &[u8]) -> Result<&RequestPeek, &PeekError> {
        self.0.peek.get_or_init(|| RequestPeek::read(body)).as_ref()
    }

    /// The peek, if it was made and the body was readable.
    pub fn get(&self) -> Option<&RequestPeek> {
        self.0.peek.get()?.as_ref().ok()
    }

    /// Notes that a worker is known to serve the model asked for.
    pub fn set_served_model(&self, model: Arc<str>) {
        // Only a router says so, and once.
        let _ = self.0.served_model.set(model);
    }

    /// The model asked for, if a worker is known to serve it.
    pub fn served_model(&self) -> Option<&Arc<str>> {
        self.0.served_model.get()
    }

    /// Notes the id that the request goes by.
    pub fn set_id(&self, id: Arc<str>) {
        // The first to name it is the one that sends it on.
        let _ = self.0.id.set(id);
    }

    /// Notes the way that the request has gone so far: for those who must know it also if no head
    /// comes, or if the head came before the way was known. What a head carries goes before it.
    pub fn set_upstream(&self, upstream: Upstream) {
        *self.0.upstream.lock().unwrap_or_else(PoisonError::into_inner) = Some(upstream);
    }

    /// The way that the request has gone so far, if a router has said so.
    pub fn upstream(&self) -> Option<Upstream> {
        self.0.upstream.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The id that the request goes by.
    pub fn id(&self) -> Option<&Arc<str>> {
        self.0.id.get()
    }
}

#[cfg(test)]
mod tests;
