//! The inference APIs of both engines: one way to run, and for each its way to write the answer.

mod ask;
mod chat;
mod completions;
mod invalid;
mod native;
pub(crate) mod problem;
mod prompts;
pub(crate) mod rooms;
mod run;
mod usage;
mod vllm;

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;
use plimsoll_wire::Engine as Kind;

use self::{ask::Ask, run::Dialect};
use crate::{server::reply::Reply, state::Engine, totals::OpenRequest};

/// An inference API.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Api {
    /// `/v1/chat/completions`
    Chat,
    /// `/v1/completions`
    Completions,
    /// `/generate`, SGLang's own
    Native,
}

// === impl Api ===

impl Api {
    /// The API an engine has at a path.
    pub(crate) fn of(kind: Kind, path: &str) -> Option<Self> {
        match (path, kind) {
            ("/v1/chat/completions", _) => Some(Self::Chat),
            ("/v1/completions", _) => Some(Self::Completions),
            ("/generate", Kind::Sglang) => Some(Self::Native),
            _ => None,
        }
    }

    fn dialect(self, kind: Kind) -> &'static dyn Dialect {
        match (self, kind) {
            (Self::Chat, Kind::Sglang) => &chat::Chat,
            (Self::Chat, Kind::Vllm) => &vllm::Chat,
            (Self::Completions, Kind::Sglang) => &completions::Completions,
            (Self::Completions, Kind::Vllm) => &vllm::Completions,
            (Self::Native, _) => &native::Native,
        }
    }
}

/// The event a scripted fault sends.
pub(crate) fn stream_fault(kind: Kind) -> &'static [u8] {
    match kind {
        Kind::Sglang => problem::FLAT_FAULT,
        Kind::Vllm => problem::NESTED_FAULT,
    }
}

/// Answers an inference request.
pub(crate) async fn answer(
    engine: &Arc<Engine>,
    api: Api,
    open: OpenRequest,
    headers: &HeaderMap,
    body: Bytes,
) -> Reply {
    let dialect = api.dialect(engine.config.engine);
    match Ask::parse(engine, api, headers, &body) {
        Ok(ask) if ask.stream => run::stream(engine, dialect, ask, open),
        Ok(ask) => run::whole(engine, dialect, ask, open).await,
        Err(refused) => {
            open.failed();
            refused.reply(api, dialect)
        }
    }
}
