//! The engines: they read a request to its end and answer with bytes that are ready. All of them run on
//! one thread.

use std::{
    convert::Infallible,
    io, mem,
    net::{SocketAddr, TcpListener},
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    thread,
    time::Duration,
};

use benches::{CONTENT_EVENTS, traffic};
use bytes::Bytes;
use http::{HeaderValue, Request, Response, header};
use http_body::{Body, Frame};
use http_body_util::{BodyExt, Either, Full};
use hyper::{body::Incoming, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::{
    net, runtime, task,
    time::{Interval, MissedTickBehavior, interval},
};

/// The header by which a request asks for a stream, and says how many ms its content events are apart:
/// 0 for no wait.
pub(crate) const PACE: &str = "x-pace-ms";

/// Where the engines listen.
#[derive(Debug)]
pub(crate) struct Engines {
    prefill: Vec<SocketAddr>,
    decode: Vec<SocketAddr>,
}

/// The content events of a stream, which ends when the client leaves; that of prefill after the first.
#[derive(Debug)]
struct Events {
    content: Arc<[Bytes]>,
    next: usize,
    only_one: bool,
    ticks: Option<Interval>,
    /// The last event has been written, so the next one is a piece of its own.
    written: bool,
}

const MODELS: &[u8] =
    br#"{"object":"list","data":[{"id":"tiny-llama","object":"model","owned_by":"sglang"}]}"#;

const METRICS: &[u8] = b"# TYPE sglang:num_running_reqs gauge\nsglang:num_running_reqs{model_name=\"tiny-llama\"} 0\n# TYPE sglang:token_usage gauge\nsglang:token_usage{model_name=\"tiny-llama\"} 0\n";

// === impl Engines ===

impl Engines {
    /// Starts so many of each kind, until the process ends.
    pub(crate) fn start(count: usize) -> io::Result<Self> {
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        let content: Arc<[Bytes]> = traffic::content_events(CONTENT_EVENTS).into();
        let start = |is_prefill| {
            let listener = TcpListener::bind(("127.0.0.1", 0))?;
            listener.set_nonblocking(true)?;
            let address = listener.local_addr()?;
            let _context = runtime.enter();
            let listener = net::TcpListener::from_std(listener)?;
            runtime.spawn(accept(listener, content.clone(), is_prefill));
            Ok(address)
        };
        let all = |is_prefill| (0..count).map(|_| start(is_prefill)).collect::<io::Result<_>>();
        let engines = Self { prefill: all(true)?, decode: all(false)? };
        let thread = thread::Builder::new().name("engines".to_owned());
        thread.spawn(move || runtime.block_on(std::future::pending::<()>()))?;
        Ok(engines)
    }

    /// So many that each serve whole requests.
    pub(crate) fn plain(&self, workers: usize) -> &[SocketAddr] {
        &self.decode[..workers]
    }

    /// As many of prefill and of decode, so many in all but two at least.
    pub(crate) fn pairs(&self, workers: usize) -> (&[SocketAddr], &[SocketAddr]) {
        let pairs = ..workers.div_ceil(2);
        (&self.prefill[pairs], &self.decode[pairs])
    }
}

/// What a stream repeats without end.
pub(crate) fn content() -> Bytes {
    traffic::content_events(CONTENT_EVENTS).concat().into()
}

async fn accept(listener: net::TcpListener, content: Arc<[Bytes]>, is_prefill: bool) {
    loop {
        let Ok((socket, _)) = listener.accept().await else {
            eprintln!("an engine cannot accept a connection");
            tokio::time::sleep(Duration::from_millis(50)).await;
            continue;
        };
        let _ = socket.set_nodelay(true);
        let content = content.clone();
        let service = service_fn(move |request| answer(request, content.clone(), is_prefill));
        // That a proxy closes a connection is no news.
        task::spawn(http1::Builder::new().serve_connection(TokioIo::new(socket), service));
    }
}

async fn answer(
    mut request: Request<Incoming>,
    content: Arc<[Bytes]>,
    only_one: bool,
) -> Result<Response<Either<Full<Bytes>, Events>>, hyper::Error> {
    while let Some(frame) = request.frame().await {
        frame?;
    }
    let pace = request.headers().get(PACE).and_then(|pace| pace.to_str().ok()?.parse().ok());
    let json = |body| ("application/json", Either::Left(Full::new(Bytes::from_static(body))));
    let (content_type, body) = match (request.uri().path(), pace) {
        ("/v1/chat/completions", Some(pace)) => (
            "text/event-stream; charset=utf-8",
            Either::Right(Events::new(content, pace, only_one)),
        ),
        ("/v1/chat/completions", None) => json(traffic::ANSWER),
        ("/v1/models", _) => json(MODELS),
        ("/metrics", _) => ("text/plain; version=0.0.4", Either::Left(Full::new(METRICS.into()))),
        _ => json(b"{}"),
    };
    let mut answer = Response::new(body);
    answer.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    Ok(answer)
}

// === impl Events ===

impl Events {
    fn new(content: Arc<[Bytes]>, pace: u64, only_one: bool) -> Self {
        let ticks = (pace > 0).then(|| {
            let mut ticks = interval(Duration::from_millis(pace));
            ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
            ticks
        });
        Self { content, next: 0, only_one, ticks, written: false }
    }
}

impl Body for Events {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        let Self { content, next, only_one, ticks, written } = &mut *self;
        if *only_one && *next > 0 {
            return Poll::Ready(None);
        }
        if let Some(ticks) = ticks {
            ready!(ticks.poll_tick(cx));
        } else if mem::replace(written, !*written) {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        let event = content[*next % content.len()].clone();
        *next += 1;
        Poll::Ready(Some(Ok(Frame::data(event))))
    }
}
