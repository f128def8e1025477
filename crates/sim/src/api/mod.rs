//! The three inference APIs: one way to ask, one way to run, three ways to write the answer.

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

use std::sync::Arc;

use bytes::Bytes;
use http::HeaderMap;

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
    /// The API at a path.
    pub(crate) fn of(path: &str) -> Option<Self> {
        match path {
            "/v1/chat/completions" => Some(Self::Chat),
            "/v1/completions" => Some(Self::Completions),
            "/generate" => Some(Self::Native),
            _ => None,
        }
    }

    fn dialect(self) -> &'static dyn Dialect {
        match self {
            Self::Chat => &chat::Chat,
            Self::Completions => &completions::Completions,
            Self::Native => &native::Native,
        }
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
    let dialect = api.dialect();
    match Ask::parse(engine, api, headers, &body) {
        Ok(ask) if ask.stream => run::stream(engine, dialect, ask, open),
        Ok(ask) => run::whole(engine, dialect, ask, open).await,
        Err(refused) => {
            open.failed();
            refused.reply(api, dialect)
        }
    }
}
