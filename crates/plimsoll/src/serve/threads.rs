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

use plimsoll_router::{Cluster, Router};
use tokio::{
    sync::{mpsc, oneshot, watch},
    time::Instant,
};

use super::{
    connection::{Connections, Serve},
    metering::Metering,
};
#[cfg(feature = "tls")]
use crate::tls::Serving;

/// Accepted connections that may wait for their thread.
const BACKLOG: usize = 1024;

/// The running threads.
#[derive(Debug)]
pub(super) struct Threads {
    threads: Vec<Thread>,
    /// When running requests are cut off; there once the threads are to end.
    deadline: watch::Sender<Option<Instant>>,
}

#[derive(Debug)]
struct Thread {
    sockets: mpsc::Sender<TcpStream>,
    /// Connections handed over and not closed.
    open: Arc<AtomicUsize>,
    /// Closed by the thread's end, when each of its requests has its record; gone once that is known.
    ended: Option<oneshot::Receiver<()>>,
}

// === impl Threads ===

impl Threads {
    /// Starts a thread for each core. What clients send may be `silence` apart.
    pub(super) fn start(
        cluster: &Arc<Cluster>,
        metering: &Metering,
        silence: Duration,
        #[cfg(feature = "tls")] tls: Option<&Serving>,
    ) -> io::Result<Self> {
        let count = thread::available_parallelism().map_or(1, NonZero::get);
        let (deadline, watched) = watch::channel(None);
        let threads = (0..count).map(|index| {
            let service = metering.over(Router::new(cluster.clone()));
            let (drain, cluster, watched) = (metering.drain(), cluster.clone(), watched.clone());
            #[cfg(feature = "tls")]
            let tls = tls.cloned();
            let connections = move |open| {
                let connections = Connections::new(service, drain, cluster, open, silence);
                #[cfg(feature = "tls")]
                let connections = connections.with_tls(tls);
                connections
            };
            Thread::start(index, connections, watched)
        });
        Ok(Self { threads: threads.collect::<io::Result<_>>()?, deadline })
    }

    /// Gives a connection to the thread that has the fewest, of those that run.
    pub(super) async fn take(&self, socket: TcpStream) {
        let running = self.threads.iter().filter(|thread| !thread.sockets.is_closed());
        let fewest = running.min_by_key(|thread| thread.open.load(Ordering::Relaxed));
        let Some(thread) = fewest else { return };
        thread.open.fetch_add(1, Ordering::Relaxed);
        // Fails only if the thread ends meanwhile.
        if thread.sockets.send(socket).await.is_err() {
            thread.open.fetch_sub(1, Ordering::Relaxed);
        }
    }

    /// Lets the threads end: each once its running requests have, at most `grace_period` from now.
    /// Said again, the later word counts.
    pub(super) fn stop(&self, grace_period: Duration) {
        self.deadline.send_replace(Some(Instant::now() + grace_period));
    }

    /// Waits until all have ended. The wait may be given up and begun again.
    pub(super) async fn ended(&mut self) {
        for thread in &mut self.threads {
            if let Some(ended) = &mut thread.ended {
                let _ = ended.await;
                thread.ended = None;
            }
        }
    }
}

// === impl Thread ===

impl Thread {
    fn start<S: Serve>(
        index: usize,
        connections: impl FnOnce(Arc<AtomicUsize>) -> Connections<S>,
        deadline: watch::Receiver<Option<Instant>>,
    ) -> io::Result<Self> {
        let (sockets, received) = mpsc::channel(BACKLOG);
        let (end, ended) = oneshot::channel();
        let open = Arc::new(AtomicUsize::new(0));
        let runtime = super::runtime()?;
        let connections = connections(open.clone());
        thread::Builder::new().name(format!("serve-{index}")).spawn(move || {
            runtime.block_on(connections.run(received, deadline));
            // Drops what was cut off, which then is counted; names that are looked up are not waited
            // for.
            runtime.shutdown_background();
            drop(end);
        })?;
        Ok(Self { sockets, open, ended: Some(ended) })
    }
}
