//! Connections, spread over the serving threads.

use std::time::Duration;

use tokio::{net::TcpListener, time::sleep};

use super::threads::Threads;

/// How long to wait where a connection cannot be accepted: mostly for a free file descriptor.
pub(super) const RETRY: Duration = Duration::from_millis(50);

/// Hands each connection to the thread that has the fewest, so that few long-lived ones do not pile
/// up on one. Never returns.
pub(super) async fn hand_out(listener: TcpListener, threads: &Threads) {
    let mut failing = false;
    loop {
        let accepted = listener.accept().await.and_then(|(stream, _)| {
            stream.set_nodelay(true)?;
            stream.into_std()
        });
        match accepted {
            Ok(stream) => {
                failing = false;
                threads.take(stream).await;
            }
            Err(error) => {
                if !failing {
                    tracing::error!("cannot accept connections: {error}");
                }
                failing = true;
                sleep(RETRY).await;
            }
        }
    }
}
