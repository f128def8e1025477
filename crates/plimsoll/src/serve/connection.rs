//! The connections of one serving thread.

use std::{
    error::Error,
    fmt::Display,
    future::{Future, pending, poll_fn},
    net::TcpStream,
    pin::pin,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    task::{Context, Poll, Waker},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response, Version};
use hyper::body::{Body, Incoming};
use hyper_util::{
    rt::{TokioExecutor, TokioTimer},
    server::{conn::auto, graceful::GracefulShutdown},
};
use plimsoll::DrainLayer;
use plimsoll_router::{Cluster, PeerAddr};
use tokio::{
    sync::{mpsc, watch},
    time::{self, Instant},
};
use tower::Service;

use super::{
    answering::Answering,
    socket::{Activity, Socket},
    upload::Upload,
};
#[cfg(feature = "tls")]
use crate::tls::Serving;

/// How long a client may take to send a request's headers, the first ones of a connection included.
const HEADER_TIMEOUT: Duration = Duration::from_secs(30);

/// How much of an answer waits for its client beside what the kernel holds, in bytes; and how large
/// the head of a request may be.
const MAX_BUFFER: usize = 64 << 10;

/// How long a client that speaks HTTP/2 may be silent before it is asked whether it is still there,
/// and how long it may then take to answer. One that left without a word would stay for good.
const PING_AFTER: Duration = Duration::from_secs(30);

/// Requests under way on one connection of HTTP/2.
const MAX_STREAMS: u32 = 200;

/// How long clients have to take in that their request was cut off.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// A service that a connection can be served by.
pub(super) trait Serve:
    Service<
        Request<Upload>,
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
    /// How long a body may be silent.
    silence: Duration,
    #[cfg(feature = "tls")]
    tls: Option<Serving>,
}

/// What belongs to one connection, whatever its bytes go through.
struct One {
    cluster: Arc<Cluster>,
    deadline: watch::Receiver<Option<Instant>>,
    activity: Arc<Activity>,
    _open: Open,
}

/// A service that is called as soon as hyper has a request's head. The adapter of `hyper_util` waits
/// for the first poll, which never comes if the client has left by then: nobody would know of that
/// request.
#[derive(Debug)]
struct CallAtOnce<S> {
    service: S,
    /// Who sends the requests, if the socket still knows.
    peer: Option<PeerAddr>,
    activity: Arc<Activity>,
    silence: Duration,
}

/// One connection, counted until it is dropped.
struct Open(Arc<AtomicUsize>);

// === impl Serve ===

impl<S, B> Serve for S
where
    S: Service<Request<Upload>, Response = Response<B>> + Clone + Send + 'static,
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
        silence: Duration,
    ) -> Self {
        let mut builder = auto::Builder::new(TokioExecutor::new());
        let mut http1 = builder.http1();
        http1.timer(TokioTimer::new()).header_read_timeout(HEADER_TIMEOUT);
        // A frame that is copied gives its room in the leg's read buffer back before the next read.
        // What is copied for a client that is slow to read must not grow far.
        http1.writev(false).max_buf_size(MAX_BUFFER);
        let mut http2 = builder.http2();
        http2
            .timer(TokioTimer::new())
            .keep_alive_interval(PING_AFTER)
            .keep_alive_timeout(PING_AFTER);
        http2.max_concurrent_streams(MAX_STREAMS).max_header_list_size(MAX_BUFFER as u32);
        let silence = silence.min(HEADER_TIMEOUT);
        Self {
            service,
            builder,
            graceful: GracefulShutdown::new(),
            drain,
            cluster,
            open,
            silence,
            #[cfg(feature = "tls")]
            tls: None,
        }
    }

    /// Speaks TLS, and nothing else, if there is a certificate to show.
    #[cfg(feature = "tls")]
    pub(super) fn with_tls(self, tls: Option<Serving>) -> Self {
        Self { tls, ..self }
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
            cluster.settled().await;
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
        let activity = Arc::<Activity>::default();
        let service = CallAtOnce {
            service: self.service.clone(),
            peer,
            activity: activity.clone(),
            silence: self.silence,
        };
        let one = One { cluster: self.cluster.clone(), deadline, activity, _open: open };
        #[cfg(feature = "tls")]
        if let Some(tls) = &self.tls {
            return self.shake_hands(tls.clone(), socket, service, one);
        }
        let socket = Socket::new(socket, one.activity.clone());
        let connection = self.builder.serve_connection(socket, service);
        tokio::spawn(one.run(self.graceful.watch(connection.into_owned())));
    }

    /// Serves a connection once TLS is agreed upon. Others do not wait for that, nor does the end.
    #[cfg(feature = "tls")]
    fn shake_hands(
        &self,
        tls: Serving,
        socket: tokio::net::TcpStream,
        service: CallAtOnce<S>,
        mut one: One,
    ) {
        let (builder, watcher) = (self.builder.clone(), self.graceful.watcher());
        tokio::spawn(async move {
            let shaken = tokio::select! {
                biased;
                shaken = Box::pin(tls.accept(socket)) => shaken,
                _ = one.deadline.wait_for(Option::is_some) => return,
            };
            match shaken {
                Ok(socket) => {
                    let socket = Socket::new(socket, one.activity.clone());
                    let connection = builder.serve_connection(socket, service);
                    one.run(watcher.watch(connection.into_owned())).await;
                }
                Err(error) => tracing::debug!("a connection has no TLS: {error}"),
            }
        });
    }
}

// === impl One ===

impl One {
    /// Moves the connection on until it ends, has nothing to do, or is cut off.
    async fn run<E: Display>(self, connection: impl Future<Output = Result<(), E>>) {
        let Self { cluster, deadline, activity, _open } = self;
        let mut connection = pin!(connection);
        let ended = tokio::select! {
            biased;
            ended = &mut connection => ended,
            () = silent(&activity) => return tracing::debug!("a connection sent no request"),
            () = idle_at_the_end(&activity, deadline.clone()) => {
                return tracing::debug!("a connection had nothing to end");
            }
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
async fn silent(activity: &Activity) {
    let mut limit = pin!(time::sleep(HEADER_TIMEOUT));
    poll_fn(|cx| match activity.was_called() {
        true => Poll::Pending,
        false => limit.as_mut().poll(cx),
    })
    .await
}

/// Ends when the process is to end and no request runs here. Hyper closes what it knows to be idle; but
/// it waits for the rest of a head that has begun, and for peers of HTTP/2 to take note.
async fn idle_at_the_end(activity: &Activity, mut deadline: watch::Receiver<Option<Instant>>) {
    // No more news of it: the thread ends otherwise.
    if deadline.wait_for(Option::is_some).await.is_err() {
        return pending().await;
    }
    loop {
        time::sleep(LAST_WORDS).await;
        if activity.is_idle() {
            return;
        }
    }
}

// === impl CallAtOnce ===

impl<S: Serve> hyper::service::Service<Request<Incoming>> for CallAtOnce<S> {
    type Response = Response<Answering<S::Body>>;
    type Error = S::Error;
    type Future = Answering<S::Future>;

    fn call(&self, mut request: Request<Incoming>) -> Self::Future {
        if let Some(peer) = self.peer {
            request.extensions_mut().insert(peer);
        }
        let running = self.activity.begin();
        let mut service = self.service.clone();
        let ready = service.poll_ready(&mut Context::from_waker(Waker::noop()));
        debug_assert!(matches!(ready, Poll::Ready(Ok(()))), "every layer here is always ready");
        let is_shared = request.version() == Version::HTTP_2;
        let reading = (!is_shared).then(|| self.activity.read());
        let request = request.map(|incoming| Upload::new(incoming, reading, self.silence));
        Answering::new(service.call(request), running)
    }
}

// === impl Open ===

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
