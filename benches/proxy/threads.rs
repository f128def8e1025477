//! A proxy in this process: a thread for each core with a runtime of its own, and one beside them that
//! accepts connections, as the `plimsoll` program has them.

use std::{
    io,
    net::{SocketAddr, TcpStream},
    num::NonZero,
    task::{Context, Poll, Waker},
    thread::{self, JoinHandle},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use hyper::{
    body::{Body, Incoming},
    server::conn::http1,
    service::service_fn,
};
use hyper_util::rt::TokioIo;
use tokio::{
    net::TcpListener,
    runtime,
    sync::{mpsc, oneshot},
    task,
};
use tower_service::Service;

use crate::{BoxError, cpu, proxies::Running};

/// What the names of a proxy's threads begin with.
const NAME: &str = "serve-";

/// Accepted connections that may wait for their thread.
const BACKLOG: usize = 1024;

/// The threads, which end when this is dropped.
#[derive(Debug)]
pub(crate) struct Threads {
    address: SocketAddr,
    stop: Option<oneshot::Sender<()>>,
    threads: Vec<JoinHandle<()>>,
}

// === impl Threads ===

impl Threads {
    /// Starts them. Each serves by a service of its own; `beside` runs beside them, on the thread that
    /// accepts, and never ends.
    pub(crate) fn start<S, B>(
        service: impl Fn() -> S,
        beside: impl Future<Output = ()> + Send + 'static,
    ) -> io::Result<Self>
    where
        S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
        S::Error: Into<BoxError>,
        S::Future: Send,
        B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
    {
        let count = thread::available_parallelism().map_or(1, NonZero::get);
        let (mut threads, mut sockets) = (Vec::new(), Vec::new());
        for index in 0..count {
            let (sender, received) = mpsc::channel(BACKLOG);
            threads.push(spawn(&index.to_string(), serve(service(), received))?);
            sockets.push(sender);
        }
        let listener = std::net::TcpListener::bind(("127.0.0.1", 0))?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let (stop, stopped) = oneshot::channel();
        threads.push(spawn("beside", async move {
            tokio::select! {
                accepted = hand_out(listener, sockets) => {
                    accepted.unwrap_or_else(|error| eprintln!("no more connections: {error}"));
                }
                () = beside => {}
                _ = stopped => {}
            }
        })?);
        Ok(Self { address, stop: Some(stop), threads })
    }
}

impl Running for Threads {
    fn address(&self) -> SocketAddr {
        self.address
    }

    fn cpu_time(&self) -> io::Result<Duration> {
        cpu::of_threads(None, NAME)
    }
}

impl Drop for Threads {
    fn drop(&mut self) {
        // The accepting thread drops what the others get their connections from, so they end too.
        drop(self.stop.take());
        for thread in self.threads.drain(..) {
            let _ = thread.join();
        }
    }
}

fn spawn(
    name: &str,
    work: impl Future<Output = ()> + Send + 'static,
) -> io::Result<JoinHandle<()>> {
    let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
    let thread = thread::Builder::new().name(format!("{NAME}{name}"));
    thread.spawn(move || runtime.block_on(work))
}

/// Gives each thread a connection in turn.
async fn hand_out(
    listener: std::net::TcpListener,
    threads: Vec<mpsc::Sender<TcpStream>>,
) -> io::Result<()> {
    let listener = TcpListener::from_std(listener)?;
    for thread in threads.iter().cycle() {
        let (socket, _) = listener.accept().await?;
        socket.set_nodelay(true)?;
        // Fails only if the thread has ended.
        let _ = thread.send(socket.into_std()?).await;
    }
    Ok(())
}

/// Serves the connections that come; returning ends those that are open.
async fn serve<S, B>(service: S, mut sockets: mpsc::Receiver<TcpStream>)
where
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<BoxError>,
    S::Future: Send,
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    while let Some(socket) = sockets.recv().await {
        let Ok(socket) = tokio::net::TcpStream::from_std(socket) else { continue };
        let service = service.clone();
        let answer = service_fn(move |request| {
            let mut service = service.clone();
            let ready = service.poll_ready(&mut Context::from_waker(Waker::noop()));
            debug_assert!(matches!(ready, Poll::Ready(Ok(()))), "every service here is ready");
            service.call(request)
        });
        // The client sees for itself whether its answer is whole.
        task::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), answer));
    }
}
