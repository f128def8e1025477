//! The server of a prefill engine that decode asks: bootstrap server or side channel.

use std::{convert::Infallible, future::pending, io, net::SocketAddr, sync::Arc};

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode, header::CONTENT_TYPE};
use http_body_util::{BodyExt, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;

use super::{Rooms, nixl::Kept};
use crate::server::accept::{self, Listening};

/// Serves `GET /health`, `POST /sim/rooms/ROOM` and `POST /sim/kept` until dropped.
pub(crate) async fn listen(
    addr: SocketAddr,
    rooms: Arc<Rooms>,
    kept: Arc<Kept>,
) -> io::Result<Listening> {
    accept::listen(addr, pending(), move |stream| {
        let (rooms, kept) = (Arc::clone(&rooms), Arc::clone(&kept));
        let service =
            service_fn(move |request| answer(Arc::clone(&rooms), Arc::clone(&kept), request));
        async move {
            let served = http1::Builder::new().serve_connection(TokioIo::new(stream), service);
            if let Err(error) = served.await {
                tracing::debug!(%error, "bootstrap connection ended");
            }
        }
    })
    .await
}

async fn answer(
    rooms: Arc<Rooms>,
    kept: Arc<Kept>,
    request: Request<Incoming>,
) -> Result<Response<Full<Bytes>>, Infallible> {
    let path = request.uri().path();
    if path == "/health" {
        return Ok(reply(StatusCode::OK, "text/plain; charset=utf-8", "OK"));
    }
    if path == "/sim/kept" {
        let body = request.into_body().collect().await.map(|body| body.to_bytes());
        let source = body.ok().and_then(|body| serde_json::from_slice(&body).ok());
        return Ok(if source.is_some_and(|source| kept.take(&source)) {
            reply(StatusCode::OK, "application/json", "{}")
        } else {
            reply(StatusCode::NOT_FOUND, "text/plain; charset=utf-8", "404: Not Found")
        });
    }
    let room = path.strip_prefix("/sim/rooms/").and_then(|room| room.parse().ok());
    let Some(room) = room.filter(|_| request.method() == Method::POST) else {
        return Ok(reply(StatusCode::NOT_FOUND, "text/plain; charset=utf-8", "404: Not Found"));
    };
    let result = rooms.enter(room).fetch().await;
    let body = serde_json::to_vec(&result).unwrap_or_default();
    Ok(reply(StatusCode::OK, "application/json", body))
}

fn reply(status: StatusCode, kind: &'static str, body: impl Into<Bytes>) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body.into()));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, http::HeaderValue::from_static(kind));
    response
}
