//! The client: connections that each send a request, read its answer and send the next, until the CPU
//! time of the proxy has been measured.

use std::{
    convert::Infallible,
    mem,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, AtomicUsize, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use http::{Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{SendRequest, handshake};
use hyper_util::rt::TokioIo;
use tokio::{
    net::TcpStream,
    task::{self, JoinSet},
    time::{Instant, sleep, timeout},
};

use crate::{BoxError, engine::PACE, proxies::Running};

/// What is sent, and what must come back.
#[derive(Clone, Debug)]
pub(crate) struct Plan {
    /// Connections, each with one request at a time.
    pub(crate) clients: usize,
    pub(crate) request: Bytes,
    /// How many ms the events of a stream are apart, where one is asked for.
    pub(crate) pace: Option<u64>,
    /// The whole answer, or what a stream repeats without end.
    pub(crate) expected: Bytes,
}

/// How far the connections of a plan are.
struct Run {
    proxy: SocketAddr,
    plan: Plan,
    /// Connections on which the first bytes of an answer have come.
    started: AtomicUsize,
    /// Bytes of answers, of all connections.
    bytes: AtomicU64,
}

/// How long it may take until all connections have the first bytes of an answer.
const PATIENCE: Duration = Duration::from_secs(60);

/// How far the starts of two connections are apart: not all at once, so that their streams are not in
/// step.
const APART: Duration = Duration::from_micros(500);

/// What part of the measured time goes before it, unmeasured.
const WARM_UP: f64 = 0.3;

const TICK: Duration = Duration::from_millis(10);

/// Waits until the proxy there answers.
pub(crate) async fn wait_for(proxy: SocketAddr, plan: Plan) -> Result<(), BoxError> {
    let run = Run::new(proxy, plan);
    let start = Instant::now();
    loop {
        match run.one_request().await {
            Err(_) if start.elapsed() < PATIENCE => sleep(TICK).await,
            answered => return answered,
        }
    }
}

/// Runs the plan and gives what the proxy took meanwhile: CPU time in µs, for each time that as many
/// bytes came as there are expected.
///
/// # Errors
///
/// If a request cannot be sent, or an answer is not the expected one.
pub(crate) async fn measure(
    proxy: &dyn Running,
    plan: Plan,
    time: Duration,
) -> Result<f64, BoxError> {
    let run = Arc::new(Run::new(proxy.address(), plan));
    let mut connections: JoinSet<_> =
        (0..run.plan.clients).map(|index| run.clone().connection(index)).collect();
    let all_started = async {
        while run.started.load(Ordering::Relaxed) < run.plan.clients {
            sleep(TICK).await;
        }
    };
    let measured = async {
        timeout(PATIENCE, all_started).await.map_err(|_| "answers take too long")?;
        sleep(time.mul_f64(WARM_UP)).await;
        let (cpu, bytes) = (proxy.cpu_time()?, run.bytes.load(Ordering::Relaxed));
        sleep(time).await;
        let cpu = proxy.cpu_time()?.saturating_sub(cpu);
        let bytes = run.bytes.load(Ordering::Relaxed) - bytes;
        Ok(cpu.as_secs_f64() * 1e6 * run.plan.expected.len() as f64 / bytes as f64)
    };
    tokio::select! {
        measured = measured => measured,
        Some(ended) = connections.join_next() => {
            let Err(error) = ended?;
            Err(error)
        }
    }
}

// === impl Run ===

impl Run {
    fn new(proxy: SocketAddr, plan: Plan) -> Self {
        Self { proxy, plan, started: AtomicUsize::new(0), bytes: AtomicU64::new(0) }
    }

    async fn connection(self: Arc<Self>, index: usize) -> Result<Infallible, BoxError> {
        sleep(APART * index as u32).await;
        let mut sender = self.connect().await?;
        let mut is_new = true;
        loop {
            self.exchange(&mut sender, &mut is_new).await?;
        }
    }

    async fn one_request(&self) -> Result<(), BoxError> {
        self.exchange(&mut self.connect().await?, &mut true).await
    }

    async fn connect(&self) -> Result<SendRequest<Full<Bytes>>, BoxError> {
        let socket = TcpStream::connect(self.proxy).await?;
        socket.set_nodelay(true)?;
        let (sender, connection) = handshake(TokioIo::new(socket)).await?;
        task::spawn(connection);
        Ok(sender)
    }

    /// Sends one request and reads its answer to the end.
    async fn exchange(
        &self,
        sender: &mut SendRequest<Full<Bytes>>,
        is_new: &mut bool,
    ) -> Result<(), BoxError> {
        let mut request = Request::post("/v1/chat/completions")
            .header(header::HOST, "bench")
            .header(header::CONTENT_TYPE, "application/json")
            .header(header::AUTHORIZATION, "Bearer key")
            .header(header::ACCEPT, "*/*")
            .header(header::USER_AGENT, "bench");
        if let Some(pace) = self.plan.pace {
            request = request.header(PACE, pace);
        }
        sender.ready().await?;
        let request = request.body(Full::new(self.plan.request.clone()))?;
        let mut answer = sender.send_request(request).await?;
        let mut rest = &*self.plan.expected;
        while let Some(frame) = answer.frame().await {
            let Ok(data) = frame?.into_data() else { continue };
            rest = self.check(answer.status(), rest, &data)?;
            self.bytes.fetch_add(data.len() as u64, Ordering::Relaxed);
            self.started.fetch_add(mem::take(is_new).into(), Ordering::Relaxed);
        }
        if self.plan.pace.is_some() || !rest.is_empty() {
            return Err("an answer ended early".into());
        }
        Ok(())
    }

    /// What is to come after the data.
    fn check<'a>(
        &'a self,
        status: StatusCode,
        mut rest: &'a [u8],
        mut data: &[u8],
    ) -> Result<&'a [u8], BoxError> {
        while !data.is_empty() {
            if rest.is_empty() && self.plan.pace.is_some() {
                rest = &self.plan.expected;
            }
            let length = data.len().min(rest.len());
            let (piece, more) = data.split_at(length);
            if status != StatusCode::OK || piece.is_empty() || piece != &rest[..length] {
                let data = String::from_utf8_lossy(data);
                return Err(format!("a wrong answer, {status}: {data}").into());
            }
            (data, rest) = (more, &rest[length..]);
        }
        Ok(rest)
    }
}
