//! From a request to its answer.

use std::{
    future::pending,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use tokio::time::sleep;

use super::reply::{self, Reply};
use crate::{
    api::{self, Api},
    faults::FaultAction,
    info, metrics,
    seen::SeenRequest,
    state::Engine,
    totals::OpenRequest,
};

const METRICS_TYPE: &str = "text/plain; version=0.0.4; charset=utf-8";

const FLUSHED: &str = "Cache flushed.\nPlease check backend logs for more details. (When there \
                       are running or waiting requests, the operation will not be performed.)\n";

/// Answers a request. An error closes the connection, with RST if `reset` is set.
pub(super) async fn answer(
    engine: Arc<Engine>,
    reset: Arc<AtomicBool>,
    request: Request<Incoming>,
) -> io::Result<Reply> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path();
    let api = Api::of(path).filter(|_| parts.method == Method::POST);
    let open = api.map(|_| OpenRequest::new(Arc::clone(&engine.totals)));
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    if api.is_some() {
        engine.seen.push(SeenRequest::new(&parts, body.clone()));
    }
    let fault = engine.faults.take(path, api.is_some());
    match &fault {
        Some(FaultAction::DelayHead(time)) => sleep(*time).await,
        Some(FaultAction::HangHead) => pending().await,
        Some(FaultAction::ResetBeforeHead) => {
            reset.store(true, Ordering::Relaxed);
            return Err(io::ErrorKind::ConnectionReset.into());
        }
        _ => {}
    }
    if let Some(reply) = fault.as_ref().and_then(made_up) {
        if let Some(open) = open {
            open.failed();
        }
        return Ok(reply);
    }
    let reply = match (api, open) {
        (Some(api), Some(open)) => api::answer(&engine, api, open, &parts.headers, body).await,
        _ => other(&engine, &parts.method, path),
    };
    Ok(reply.map(|body| body.with_fault(fault)))
}

/// The answer a fault gives in place of the engine's.
fn made_up(fault: &FaultAction) -> Option<Reply> {
    match fault {
        FaultAction::Status { code, headers, body } => {
            let status = StatusCode::from_u16(*code).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
            Some(reply::faulty(status, headers, body.clone()))
        }
        FaultAction::GarbageBody => {
            let garbage = Bytes::from_static(b"\0\xff<html>neither JSON nor events");
            Some(reply::faulty(StatusCode::OK, &[], garbage))
        }
        _ => None,
    }
}

/// Everything but inference.
fn other(engine: &Engine, method: &Method, path: &str) -> Reply {
    let allowed = match path {
        "/v1/chat/completions" | "/v1/completions" | "/generate" => "POST",
        "/flush_cache" => "GET, POST",
        "/metrics" | "/metrics/" if !engine.config.metrics => "",
        "/health" | "/health_generate" | "/v1/models" | "/get_server_info" | "/server_info"
        | "/get_model_info" | "/model_info" | "/v1/loads" | "/metrics" | "/metrics/" => "GET",
        _ => "",
    };
    if allowed.is_empty() {
        return reply::detail(StatusCode::NOT_FOUND, None);
    }
    if !allowed.split(", ").any(|allowed| allowed == method.as_str()) {
        return reply::detail(StatusCode::METHOD_NOT_ALLOWED, Some(allowed));
    }
    let ok = StatusCode::OK;
    match path {
        "/v1/models" => reply::json(ok, info::models(engine)),
        "/get_server_info" | "/server_info" => reply::json(ok, info::server(engine)),
        "/get_model_info" | "/model_info" => reply::json(ok, info::model(engine)),
        "/v1/loads" => reply::json(ok, info::loads(engine)),
        "/metrics" | "/metrics/" => reply::plain(Some(METRICS_TYPE), ok, metrics::page(engine)),
        "/flush_cache" => {
            engine.ranks.iter().for_each(|rank| rank.flush());
            reply::plain(None, ok, FLUSHED)
        }
        _ if engine.faults.is_unhealthy() => {
            reply::plain(None, StatusCode::SERVICE_UNAVAILABLE, "")
        }
        _ => reply::plain(None, ok, ""),
    }
}
