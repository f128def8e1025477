//! The HTTP/1 server of an engine.

pub(crate) mod accept;
pub(crate) mod body;
mod pages;
pub(crate) mod reply;
mod route;

use std::{
    future::{Future, poll_fn},
    io,
    pin::{Pin, pin},
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
    let (addr, mortal) = (engine.config.addr, Arc::clone(&engine));
    let last_call = async move { mortal.death().await };
    let serve = move |stream| connection(Arc::clone(&engine), stream);
    accept::listen(addr, last_call, serve).await
}

/// Serves one client connection, at the engine's death to the end of the answer under way. It ends
/// with RST where a fault asks for it, else with FIN.
async fn connection(engine: Arc<Engine>, stream: TcpStream) {
    let keep_alive = engine.config.keep_alive;
    let reset = Arc::new(AtomicBool::new(false));
    let (serving, resetting) = (Arc::clone(&engine), Arc::clone(&reset));
    let service = service_fn(move |request| {
        Box::pin(route::answer(Arc::clone(&serving), Arc::clone(&resetting), request))
    });
    let mut death = pin!(engine.death());
    let mut connection = http1::Builder::new()
        .timer(TokioTimer::new())
        .header_read_timeout(keep_alive)
        .serve_connection(TokioIo::new(stream), service);
    let mut dying = false;
    let served = poll_fn(|context| {
        if !dying && death.as_mut().poll(context).is_ready() {
            dying = true;
            Pin::new(&mut connection).graceful_shutdown();
        }
        connection.poll_without_shutdown(context)
    });
    if let Err(error) = served.await {
        tracing::debug!(%error, "connection ended");
    }
    if reset.load(Ordering::Relaxed) {
        let stream = connection.into_parts().io.into_inner();
        if let Err(error) = stream.set_zero_linger() {
            tracing::debug!(%error, "no SO_LINGER: closing instead of resetting");
        }
    }
}
