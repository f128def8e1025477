//! The serving threads: one for each core, each with a runtime of one thread.
//!
//! Nothing of a request crosses threads: its connection, the connections to its workers and its
//! timers belong to one runtime. That halves the CPU time of a request against a runtime that
//! steals work, whose cross-thread wake-ups cost more than the work. What is one for the process
//! (the workers' state, positions, metrics) is atomics.

use std::{
    io,
    net::TcpStream,
    num::NonZero,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    thread,
    time::Duration,
};

use plimsoll::{AmendLayer, Exporter};
use plimsoll_router::{Cluster, Router};
use tokio::sync::{mpsc, oneshot};
use tower::ServiceBuilder;

use super::connection::{self, Connections};
use crate::flags::StreamUsage;

/// Accepted connections that may wait for their thread.
const BACKLOG: usize = 1024;

/// The running threads.
#[derive(Debug)]
pub(super) struct Threads(Vec<Thread>);

#[derive(Debug)]
struct Thread {
    sockets: mpsc::Sender<TcpStream>,
    /// Connections handed over and not closed.
    open: Arc<AtomicUsize>,
    stop: oneshot::Sender<Duration>,
    /// Closed by the thread's end.
    ended: oneshot::Receiver<()>,
}

// === impl Threads ===

impl Threads {
    /// Starts a thread for each core.
    pub(super) fn start(
        cluster: &Arc<Cluster>,
        exporter: &Exporter,
        stream_usage: StreamUsage,
    ) -> io::Result<Self> {
        let count = thread::available_parallelism().map_or(1, NonZero::get);
        let threads = (0..count).map(|index| {
            let service = ServiceBuilder::new()
                .layer(exporter.layer())
                .layer(
                    AmendLayer::new(cluster.max_body())
                        .enabled(stream_usage == StreamUsage::Inject),
                )
                .service(Router::new(cluster.clone()));
            Thread::start(index, move |open| Connections::new(service.clone(), open))
        });
        threads.collect::<io::Result<_>>().map(Self)
    }

    /// Gives a connection to the thread that has the fewest.
    pub(super) async fn take(&self, socket: TcpStream) {
        let fewest = self.0.iter().min_by_key(|thread| thread.open.load(Ordering::Relaxed));
        let Some(thread) = fewest else { return };
        thread.open.fetch_add(1, Ordering::Relaxed);
        // Fails only if the thread has ended, and the process with it.
        if thread.sockets.send(socket).await.is_err() {
            thread.open.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Lets the threads end: each once its running requests have, at most `grace_period` from now.
    pub(super) async fn stop(self, grace_period: Duration) {
        let mut ended = Vec::new();
        for thread in self.0 {
            let _ = thread.stop.send(grace_period);
            ended.push(thread.ended);
        }
        for ended in ended {
            let _ = ended.await;
        }
    }
}

// === impl Thread ===

impl Thread {
    fn start<S: connection::Serve>(
        index: usize,
        connections: impl FnOnce(Arc<AtomicUsize>) -> Connections<S> + Send + 'static,
    ) -> io::Result<Self> {
        let (sockets, received) = mpsc::channel(BACKLOG);
        let (stop, stopped) = oneshot::channel();
        let (end, ended) = oneshot::channel();
        let open = Arc::new(AtomicUsize::new(0));
        let runtime = super::runtime()?;
        let connections = connections(open.clone());
        thread::Builder::new().name(format!("serve-{index}")).spawn(move || {
            runtime.block_on(connections.run(received, stopped));
            drop(end);
        })?;
        Ok(Self { sockets, open, stop, ended })
    }
}
