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

use super::{
    pages,
    reply::{self, Reply},
};
use crate::{
    api::{self, Api},
    faults::FaultAction,
    seen::SeenRequest,
    state::Engine,
    totals::OpenRequest,
};

/// Answers a request. An error closes the connection, with RST if `reset` is set.
pub(super) async fn answer(
    engine: Arc<Engine>,
    reset: Arc<AtomicBool>,
    request: Request<Incoming>,
) -> io::Result<Reply> {
    let (parts, body) = request.into_parts();
    let path = parts.uri.path();
    let kind = engine.config.engine;
    let api = Api::of(kind, path).filter(|_| parts.method == Method::POST);
    let open = api.map(|_| OpenRequest::new(Arc::clone(&engine.totals)));
    let body = body.collect().await.map_err(io::Error::other)?.to_bytes();
    if engine.is_dead() {
        return Err(io::ErrorKind::ConnectionAborted.into());
    }
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
        _ => pages::answer(&engine, &parts.method, path),
    };
    Ok(reply.map(|body| body.with_fault(fault, api::stream_fault(kind))))
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
