//! The connections of one serving thread.

use std::{
    error::Error,
    future::{Future, pending, poll_fn},
    net::TcpStream,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use hyper::body::{Body, Incoming};
use hyper_util::{
    rt::{TokioExecutor, TokioIo, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
};
use plimsoll::DrainLayer;
use plimsoll_router::{Cluster, PeerAddr};
use tokio::{
    sync::{mpsc, watch},
    time::{self, Instant},
};
use tower::Service;

/// How long a client may take to send a request's headers, the first ones of a connection included.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

/// How much of an answer waits for its client beside what the kernel holds, in bytes; and how large
/// the head of a request may be.
const MAX_BUFFER: usize = 64 << 10;

/// How long clients have to take in that their request was cut off.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A service that a connection can be served by.
pub(super) trait Serve:
    Service<
        Request<Incoming>,
        Response = Response<Self::Body>,
        Error: Into<Box<dyn Error + Send + Sync>>,
        Future: Send + 'static,
    > + Clone
    + Send
    + 'static
{
    /// What it answers with.
    type Body: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Send + 'static;
}

/// Serves the connections that one thread is given.
#[derive(Debug)]
pub(super) struct Connections<S> {
    service: S,
    builder: auto::Builder<TokioExecutor>,
    graceful: GracefulShutdown,
    drain: DrainLayer,
    cluster: Arc<Cluster>,
    open: Arc<AtomicUsize>,
}

/// A service that is called as soon as hyper has a request's head. The adapter of `hyper_util` waits
/// for the first poll, which never comes if the client has left by then: nobody would know of that
/// request.
#[derive(Debug)]
struct CallAtOnce<S> {
    service: S,
    /// Who sends the requests, if the socket still knows.
    peer: Option<PeerAddr>,
    /// A request has come.
    called: Arc<AtomicBool>,
}

/// One connection, counted until it is dropped.
struct Open(Arc<AtomicUsize>);

// === impl Serve ===

impl<S, B> Serve for S
where
    S: Service<Request<Incoming>, Response = Response<B>> + Clone + Send + 'static,
    S::Error: Into<Box<dyn Error + Send + Sync>>,
    S::Future: Send + 'static,
    B: Body<Data = Bytes> + Send + 'static,
    B::Error: Into<Box<dyn Error + Send + Sync>>,
{
    type Body = B;
}

// === impl Connections ===

impl<S: Serve> Connections<S> {
    pub(super) fn new(
        service: S,
        drain: DrainLayer,
        cluster: Arc<Cluster>,
        open: Arc<AtomicUsize>,
    ) -> Self {
        let mut builder = auto::Builder::new(TokioExecutor::new());
        let mut http1 = builder.http1();
        http1.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
        // A frame that is copied gives its room in the leg's read buffer back before the next read.
        // What is copied for a client that is slow to read must not grow far.
        http1.writev(false).max_buf_size(MAX_BUFFER);
        builder.http2().timer(TokioTimer::new());
        Self { service, builder, graceful: GracefulShutdown::new(), drain, cluster, open }
    }

    /// Serves until there is a deadline, then until no request runs or the deadline has passed.
    pub(super) async fn run(
        self,
        mut sockets: mpsc::Receiver<TcpStream>,
        deadline: watch::Receiver<Option<Instant>>,
    ) {
        let mut word = deadline.clone();
        loop {
            tokio::select! {
                biased;
                // No more sockets is not the word to stop: what runs may end first.
                Some(socket) = sockets.recv() => self.serve(socket, deadline.clone()),
                _ = word.wait_for(Option::is_some) => break,
            }
        }
        let Self { graceful, drain, cluster, .. } = self;
        let mut ended = pin!(async {
            graceful.shutdown().await;
            drain.settled().await;
        });
        tokio::select! {
            () = &mut ended => return,
            () = passed(deadline) => {}
        }
        tracing::warn!("requests were cut off: they ran on after the grace period");
        cluster.cut_off();
        let _ = time::timeout(LAST_WORDS, ended).await;
    }

    fn serve(&self, socket: TcpStream, deadline: watch::Receiver<Option<Instant>>) {
        let open = Open(self.open.clone());
        let socket = match tokio::net::TcpStream::from_std(socket) {
            Ok(socket) => socket,
            Err(error) => return tracing::error!("a connection was lost: {error}"),
        };
        let peer = socket.peer_addr().ok().map(PeerAddr);
        let called = Arc::new(AtomicBool::new(false));
        let service = CallAtOnce { service: self.service.clone(), peer, called: called.clone() };
        let connection = self.builder.serve_connection(TokioIo::new(socket), service);
        let connection = self.graceful.watch(connection.into_owned());
        let cluster = self.cluster.clone();
        tokio::spawn(async move {
            let _open = open;
            let mut connection = pin!(connection);
            let ended = tokio::select! {
                biased;
                ended = &mut connection => ended,
                () = silent(called) => return tracing::debug!("a connection sent no request"),
                () = passed(deadline) => {
                    // Its requests end when they are polled, and that is now.
                    cluster.cut_off();
                    connection.await
                }
            };
            // A client that leaves is no news.
            if let Err(error) = ended {
                tracing::debug!("a connection ended early: {error}");
            }
        });
    }
}

/// Ends when the deadline has passed, which may be moved meanwhile.
async fn passed(mut deadline: watch::Receiver<Option<Instant>>) {
    loop {
        let end = *deadline.borrow_and_update();
        tokio::select! {
            biased;
            () = until(end) => return,
            Ok(()) = deadline.changed() => {}
        }
    }
}

/// Ends at that time; never if there is none.
async fn until(end: Option<Instant>) {
    match end {
        Some(end) => time::sleep_until(end).await,
        None => pending().await,
    }
}

/// Ends if no request comes in time. The timer of hyper starts only once it is known which version of
/// the protocol a client speaks.
async fn silent(called: Arc<AtomicBool>) {
    let mut limit = pin!(time::sleep(HEADER_TIMEOUT));
    poll_fn(|cx| match called.load(Ordering::Relaxed) {
        true => Poll::Pending,
        false => limit.as_mut().poll(cx),
    })
    .await
}

// === impl CallAtOnce ===

impl<S: Serve> hyper::service::Service<Request<Incoming>> for CallAtOnce<S> {
    type Response = S::Response;
    type Error = S::Error;
    type Future = S::Future;

    fn call(&self, mut request: Request<Incoming>) -> S::Future {
        if let Some(peer) = self.peer {
            request.extensions_mut().insert(peer);
        }
        self.called.store(true, Ordering::Relaxed);
        let mut service = self.service.clone();
        let ready = service.poll_ready(&mut Context::from_waker(Waker::noop()));
        debug_assert!(matches!(ready, Poll::Ready(Ok(()))), "every layer here is always ready");
        service.call(request)
    }
}

// === impl Open ===

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
