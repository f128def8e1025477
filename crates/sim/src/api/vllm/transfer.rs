//! `kv_transfer_params`, in requests and in answers.

use plimsoll_wire::Role;
use serde::Serialize;
use serde_json::Value;

use super::{Null, invalid};
use crate::{
    api::{Api, problem::Problem, rooms::Meeting},
    bootstrap::nixl::Source,
    sequence::Sequence,
    state::Engine,
};

/// What a request asks of its KV.
#[derive(Debug)]
pub(super) enum Wish {
    Nothing,
    Keep,
    Fetch(Source),
    /// To fetch it from nowhere.
    Broken,
}

/// What prefill tells decode.
#[derive(Debug, Serialize)]
pub(super) struct Transfer<'a> {
    do_remote_prefill: bool,
    do_remote_decode: bool,
    remote_block_ids: [&'a [u64]; 1],
    #[serde(flatten)]
    source: Source,
    tp_size: u32,
    dcp_size: u32,
    pp_size: u32,
    remote_num_tokens: usize,
    remote_blocks_expiry_time: Null,
    transfer_mode: &'a str,
    /// Only where the prompt was all that was asked for.
    #[serde(skip_serializing_if = "Option::is_none")]
    remote_prefill_cached_tokens: Option<u64>,
}

// === impl Wish ===

impl Wish {
    /// Reads the member. Prefill only keeps, decode only fetches, and a plain engine, which has no
    /// connector, does neither.
    pub(super) fn read(role: Role, params: &Value) -> Result<Self, Problem> {
        if !params.is_object() && !params.is_null() {
            return Err(invalid::not_an_object("kv_transfer_params", params));
        }
        Ok(match role {
            Role::Prefill if params["do_remote_decode"] == true => Self::Keep,
            Role::Decode if params["do_remote_prefill"] == true => {
                let source = serde_json::from_value(params.clone()).ok();
                let source = source.filter(|_| params["remote_block_ids"].is_array());
                source.map_or(Self::Broken, Self::Fetch)
            }
            _ => Self::Nothing,
        })
    }

    /// What it means for one of the request's sequences. The parameters are those of one prompt:
    /// the others are computed by decode itself.
    pub(super) fn meeting(&self, id: impl FnOnce() -> String, at: usize, sample: u32) -> Meeting {
        match self {
            Self::Keep => Meeting::Keep(id()),
            _ if at > 0 || sample > 0 => Meeting::None,
            Self::Nothing => Meeting::None,
            Self::Fetch(source) => Meeting::Fetch(source.clone()),
            Self::Broken => Meeting::Broken,
        }
    }
}

/// The engine's own id of one sequence.
pub(super) fn request_id(api: Api, id: &str, at: usize, sample: u32, samples: u32) -> String {
    let sample = if samples > 1 { format!("{sample}_") } else { String::new() };
    let prompt = if api == Api::Completions { format!("-{at}") } else { String::new() };
    format!("{sample}{id}{prompt}-{:08x}", fastrand::u32(..))
}

// === impl Transfer ===

impl<'a> Transfer<'a> {
    /// The parameters of an answer: those of the first prompt, and of several samples of it, the
    /// last one's. What is kept of the others is lost.
    pub(super) fn of(engine: &Engine, sequences: &'a [Sequence]) -> Option<Self> {
        let more = sequences.iter().skip(1).take_while(|sequence| sequence.task.sample > 0);
        let told = sequences.first().into_iter().chain(more).last()?;
        let (Meeting::Keep(id), Some(blocks)) = (&told.task.meeting, &told.kept_blocks) else {
            return None;
        };
        let host = engine.config.addr.ip();
        let host = if host.is_unspecified() { "127.0.0.1".to_owned() } else { host.to_string() };
        Some(Self {
            do_remote_prefill: true,
            do_remote_decode: false,
            remote_block_ids: [blocks],
            source: Source {
                remote_engine_id: engine.kept.engine_id.clone(),
                remote_request_id: id.clone(),
                remote_host: host,
                remote_port: engine.bootstrap_port(),
            },
            tp_size: engine.config.tp,
            dcp_size: 1,
            pp_size: 1,
            // The last token is not in the cache yet.
            remote_num_tokens: told.task.prompt.len() + told.output.len() - 1,
            remote_blocks_expiry_time: None,
            transfer_mode: "pull",
            remote_prefill_cached_tokens: (told.task.max_new == 1).then_some(told.cached),
        })
    }
}
