//! The HTTP/1 server of an engine.

pub(crate) mod accept;
pub(crate) mod body;
pub(crate) mod reply;
mod route;

use std::{
    future::poll_fn,
    io,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::net::TcpStream;

use self::accept::Listening;
use crate::state::Engine;

/// Serves an engine until dropped.
pub(crate) async fn listen(engine: Arc<Engine>) -> io::Result<Listening> {
    accept::listen(engine.config.addr, move |stream| connection(Arc::clone(&engine), stream)).await
}

/// Serves one client connection. It ends with RST where a fault asks for it, else with FIN.
async fn connection(engine: Arc<Engine>, stream: TcpStream) {
    let keep_alive = engine.config.keep_alive;
    let reset = Arc::new(AtomicBool::new(false));
    let resetting = Arc::clone(&reset);
    let service = service_fn(move |request| {
        Box::pin(route::answer(Arc::clone(&engine), Arc::clone(&resetting), request))
    });
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(keep_alive)
        .serve_connection(TokioIo::new(stream), service);
    if let Err(error) = poll_fn(|context| connection.poll_without_shutdown(context)).await {
        tracing::debug!(%error, "connection ended");
    }
    if reset.load(Ordering::Relaxed) {
        let stream = connection.into_parts().io.into_inner();
        if let Err(error) = stream.set_zero_linger() {
            tracing::debug!(%error, "no SO_LINGER: closing instead of resetting");
        }
    }
}
