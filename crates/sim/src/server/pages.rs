//! Everything but inference.

use http::{Method, StatusCode};
use plimsoll_wire::Engine as Kind;

use super::reply::{self, Reply};
use crate::{info, metrics, state::Engine};

const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

const FLUSHED: &str = "Cache flushed.\nPlease check backend logs for more details. (When there \
                       are running or waiting requests, the operation will not be performed.)\n";

/// What is at a path.
#[derive(Debug, Clone, Copy)]
enum Page {
    /// An inference API, asked with the wrong method.
    Inference,
    Health,
    Models,
    Metrics,
    Version,
    ServerInfo,
    ModelInfo,
    Loads,
    Flush,
}

// === impl Page ===

impl Page {
    /// The page an engine has at a path.
    fn of(engine: &Engine, path: &str) -> Option<Self> {
        match (path, engine.config.engine) {
            ("/v1/chat/completions" | "/v1/completions", _) => Some(Self::Inference),
            ("/health", _) => Some(Self::Health),
            ("/v1/models", _) => Some(Self::Models),
            ("/metrics" | "/metrics/", Kind::Sglang) if !engine.config.metrics => None,
            ("/metrics" | "/metrics/", _) => Some(Self::Metrics),
            ("/version", Kind::Vllm) => Some(Self::Version),
            (_, Kind::Vllm) => None,
            ("/generate", _) => Some(Self::Inference),
            ("/health_generate", _) => Some(Self::Health),
            ("/get_server_info" | "/server_info", _) => Some(Self::ServerInfo),
            ("/get_model_info" | "/model_info", _) => Some(Self::ModelInfo),
            ("/v1/loads", _) => Some(Self::Loads),
            ("/flush_cache", _) => Some(Self::Flush),
            _ => None,
        }
    }

    fn methods(self) -> &'static str {
        match self {
            Self::Inference => "POST",
            Self::Flush => "GET, POST",
            _ => "GET",
        }
    }
}

/// Answers a request that is not for inference.
pub(super) fn answer(engine: &Engine, method: &Method, path: &str) -> Reply {
    let Some(page) = Page::of(engine, path) else {
        return reply::detail(StatusCode::NOT_FOUND, None);
    };
    let allowed = page.methods();
    if !allowed.split(", ").any(|allowed| allowed == method.as_str()) {
        return reply::detail(StatusCode::METHOD_NOT_ALLOWED, Some(allowed));
    }
    let ok = StatusCode::OK;
    match page {
        Page::Models => reply::json(ok, info::models(engine)),
        Page::Version => reply::json(ok, info::version(engine)),
        Page::ServerInfo => reply::json(ok, info::server(engine)),
        Page::ModelInfo => reply::json(ok, info::model(engine)),
        Page::Loads => reply::json(ok, info::loads(engine)),
        Page::Metrics => reply::plain(Some(METRICS_TYPE), ok, metrics::page(engine)),
        Page::Flush => {
            engine.ranks.iter().for_each(|rank| rank.flush());
            reply::plain(None, ok, FLUSHED)
        }
        Page::Health if engine.faults.is_unhealthy() => {
            reply::plain(None, StatusCode::SERVICE_UNAVAILABLE, "")
        }
        Page::Health | Page::Inference => reply::plain(None, ok, ""),
    }
}
