//! Listening, one task a connection, and stopping all of it.

use std::{future::Future, io, net::SocketAddr, pin::pin, time::Duration};

use tokio::{
    net::{TcpListener, TcpStream},
    sync::oneshot,
    task::{JoinHandle, JoinSet},
    time::sleep,
};

/// A listener at work. Dropping it closes the listener and its connections soon after;
/// [`Listening::stop`] waits for that.
#[derive(Debug)]
pub(crate) struct Listening {
    pub(crate) addr: SocketAddr,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

// === impl Listening ===

impl Listening {
    /// Closes the listener and all connections.
    pub(crate) async fn stop(self) {
        let Self { stop, task, .. } = self;
        drop(stop);
        if let Err(error) = task.await {
            tracing::debug!(%error, "listener ended badly");
        }
    }
}

/// Binds `addr` and runs `serve` for each connection. After `last_call` no more are taken; those
/// there are run to their own end.
pub(crate) async fn listen<S, F>(
    addr: SocketAddr,
    last_call: impl Future<Output = ()> + Send + 'static,
    serve: S,
) -> io::Result<Listening>
where
    S: Fn(TcpStream) -> F + Send + 'static,
    F: Future<Output = ()> + Send + 'static,
{
    let listener = TcpListener::bind(addr).await?;
    let addr = listener.local_addr()?;
    let (stop, stopped) = oneshot::channel();
    let task = tokio::spawn(run(listener, stopped, last_call, serve));
    Ok(Listening { addr, stop, task })
}

async fn run<S, F>(
    listener: TcpListener,
    mut stopped: oneshot::Receiver<()>,
    last_call: impl Future<Output = ()>,
    serve: S,
) where
    S: Fn(TcpStream) -> F,
    F: Future<Output = ()> + Send + 'static,
{
    let mut connections = JoinSet::new();
    let mut last_call = pin!(last_call);
    let stopping = loop {
        tokio::select! {
            _ = &mut stopped => break true,
            () = &mut last_call => break false,
            accepted = listener.accept() => match accepted {
                Ok((stream, _)) => {
                    if let Err(error) = stream.set_nodelay(true) {
                        tracing::debug!(%error, "no TCP_NODELAY");
                    }
                    connections.spawn(serve(stream));
                }
                // Most likely out of file descriptors: wait for some to be closed.
                Err(error) => {
                    tracing::warn!(%error, "cannot accept");
                    sleep(Duration::from_millis(10)).await;
                }
            },
            Some(_) = connections.join_next() => {}
        }
    };
    drop(listener);
    if !stopping {
        tokio::select! {
            () = async { while connections.join_next().await.is_some() {} } => {}
            _ = stopped => {}
        }
    }
    connections.shutdown().await;
}
