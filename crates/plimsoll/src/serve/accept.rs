//! Connections, spread over the serving threads.

use std::time::Duration;

use tokio::{
    net::{TcpListener, TcpStream},
    time::sleep,
};

use super::threads::Threads;

/// How long to wait where a connection cannot be accepted: mostly for a free file descriptor.
const RETRY: Duration = Duration::from_millis(50);

/// A listener that goes on after a fault, which is logged once.
pub(super) struct Acceptor {
    listener: TcpListener,
    failing: bool,
}

/// Hands each connection to the thread that has the fewest, so that few long-lived ones do not pile
/// up on one. Never returns.
pub(super) async fn hand_out(listener: TcpListener, threads: &Threads) {
    let mut acceptor = Acceptor::new(listener);
    loop {
        let stream = acceptor.next().await;
        // It fails where the client has gone.
        if let Ok(stream) = stream.set_nodelay(true).and_then(|()| stream.into_std()) {
            threads.take(stream).await;
        }
    }
}

// === impl Acceptor ===

impl Acceptor {
    pub(super) fn new(listener: TcpListener) -> Self {
        Self { listener, failing: false }
    }

    /// The next connection. Dropped before it is there, none is lost.
    pub(super) async fn next(&mut self) -> TcpStream {
        loop {
            match self.listener.accept().await {
                Ok((stream, _)) => {
                    self.failing = false;
                    return stream;
                }
                Err(error) => {
                    if !self.failing {
                        tracing::error!("cannot accept connections: {error}");
                    }
                    self.failing = true;
                    sleep(RETRY).await;
                }
            }
        }
    }
}
