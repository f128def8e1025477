use std::{
    convert::Infallible,
    fmt,
    future::Future,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Request, Response, Uri, Version, header, request};
use http_body::Body;
use http_body_util::Full;
use plimsoll_wire::{Endpoint, PeekSlot, Splice, Upstream};
use subtle::ConstantTimeEq;
use tower_service::Service;

use crate::{
    Cluster, RouteError, RouterBody, Worker, about, admin,
    admission::End,
    answer,
    body::kept_alive,
    client::{Client, Reuse},
    dispatch, headers,
    legs::{Head, LegBody},
    request::{BoxError, Inference},
    route::Route,
    workers::{Attempt, Place},
};

/// Sends requests to the workers of a [`Cluster`]. Never fails: what goes wrong is an answer.
///
/// A request body whose error, or what caused it, is an [`io::Error`](std::io::Error) of the kind
/// `TimedOut` is one that stalled: the answer is 408.
///
/// Clones share their connections, which belong to the runtime that first used them: make one for
/// each serving thread.
#[derive(Clone, Debug)]
pub struct Router {
    cluster: Arc<Cluster>,
    client: Client,
}

/// The response future of [`Router`].
///
/// It is boxed: an async function has no name. An answer that needs no worker takes 0.6 µs in all,
/// the box included (`benches/README.md`), a proxied request some 50 µs.
pub struct RouterFuture {
    answer: Pin<Box<dyn Future<Output = Response<RouterBody>> + Send>>,
    end: End,
    slot: Option<PeekSlot>,
}

// === impl Router ===

impl Router {
    /// A router with connections of its own.
    pub fn new(cluster: Arc<Cluster>) -> Self {
        let client = Client::new(cluster.config());
        Self { cluster, client }
    }

    async fn answer<B>(self, mut request: Request<B>) -> Response<RouterBody>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>>,
    {
        let names = &self.cluster.config().request_id_headers;
        let id = headers::request_id(request.headers_mut(), names);
        if let Some(slot) = request.extensions().get::<PeekSlot>() {
            slot.set_id(String::from_utf8_lossy(id.as_bytes()).into());
        }
        let mut response = match self.route(request).await {
            Ok(response) => response,
            Err(error) => answer::error(&error),
        };
        response.headers_mut().insert(headers::REQUEST_ID, id);
        response
    }

    async fn route<B>(&self, request: Request<B>) -> Result<Response<RouterBody>, RouteError>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>>,
    {
        let config = self.cluster.config();
        if headers::names_hosts(request.headers()) {
            return Err(RouteError::Hosts);
        }
        if let Some(coding) = headers::odd_transfer_coding(request.headers()) {
            let coding = String::from_utf8_lossy(coding.as_bytes()).into_owned();
            return Err(RouteError::TransferCoding(coding));
        }
        let route = Route::find(request.method(), request.uri().path(), &config.metrics_address);
        if !route.as_ref().is_ok_and(|route| route.is_open()) {
            authorize(request.headers(), config.authorization.as_ref())?;
        }
        let route = route?;
        match route {
            _ if config.authorization.is_some() => {}
            Route::AddWorker | Route::RemoveWorker => admin::require_local(&request)?,
            Route::FlushCache => admin::require_no_page(&request)?,
            _ => {}
        }
        match route {
            Route::Inference(endpoint) => self.infer(request, endpoint).await,
            Route::Models => Ok(about::models(&self.cluster)),
            Route::Liveness => Ok(answer::empty(http::StatusCode::OK)),
            Route::Readiness => Ok(about::readiness(&self.cluster)),
            Route::Info => about::relay(self, &request.into_parts().0).await,
            Route::HealthGenerate => about::generates(self, &request.into_parts().0).await,
            Route::FlushCache => Ok(admin::flush(self, request.into_parts().0).await),
            Route::ListWorkers => Ok(admin::list(&self.cluster)),
            Route::AddWorker => admin::add(&self.cluster, request.into_body()).await,
            Route::RemoveWorker => admin::remove(&self.cluster, request.uri().path()),
        }
    }

    async fn infer<B>(
        &self,
        request: Request<B>,
        endpoint: Endpoint,
    ) -> Result<Response<RouterBody>, RouteError>
    where
        B: Body<Data = Bytes, Error: Into<BoxError>>,
    {
        if self.cluster.is_paired() && !endpoint.is_paired() {
            let path = request.uri().path().to_owned();
            return Err(RouteError::NotPaired { path, engine: None });
        }
        let is_shared = request.version() == Version::HTTP_2;
        let inference = Inference::read(request, endpoint, &self.cluster).await?;
        let asks_stream = inference.slot.get().is_some_and(|peek| peek.stream);
        let answer = dispatch::infer(self.clone(), inference);
        Ok(match self.cluster.config().sse_keepalive.filter(|_| asks_stream) {
            Some(silence) => {
                let end = End::new(self.cluster.gate().cut(), is_shared);
                kept_alive(answer, silence, end).await
            }
            None => answer.await,
        })
    }

    pub(crate) fn cluster(&self) -> &Cluster {
        &self.cluster
    }

    /// Asks a worker about itself, whose silence may last as long as a probe's.
    pub(crate) async fn ask(
        &self,
        worker: &Arc<Worker>,
        parts: &request::Parts,
    ) -> Result<Response<LegBody>, RouteError> {
        let config = self.cluster.config();
        let mut headers = parts.headers.clone();
        headers::for_worker(&mut headers, self.cluster.worker_authorization());
        let request = request(parts, headers, Splice::default());
        let attempt = Attempt::new(Place::take_beside(worker), None);
        let patience = config.health.timeout;
        Head::send(&self.client, attempt, request, Reuse::Allowed, patience).await
    }

    /// Sends a request, whose headers are those for workers, to one of them, `beside` another one's
    /// leg if there is one.
    pub(crate) fn head(
        &self,
        place: Place,
        beside: Option<Arc<Worker>>,
        parts: &request::Parts,
        body: Splice,
        reuse: Reuse,
    ) -> Head {
        let request = request(parts, parts.headers.clone(), body);
        let attempt = Attempt::new(place, beside);
        Head::send(&self.client, attempt, request, reuse, self.cluster.config().idle_timeout)
    }
}

impl<B> Service<Request<B>> for Router
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + 'static,
{
    type Response = Response<RouterBody>;
    type Error = Infallible;
    type Future = RouterFuture;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<B>) -> RouterFuture {
        let end = End::new(self.cluster.gate().cut(), request.version() == Version::HTTP_2);
        let slot = request.extensions().get::<PeekSlot>().cloned();
        RouterFuture { answer: Box::pin(self.clone().answer(request)), end, slot }
    }
}

/// The same request to somebody else.
fn request(parts: &request::Parts, headers: HeaderMap, body: Splice) -> Request<Full<Splice>> {
    let mut request = Request::new(Full::new(body));
    *request.method_mut() = parts.method.clone();
    // What is asked for, without of whom.
    *request.uri_mut() = parts.uri.path_and_query().cloned().map(Uri::from).unwrap_or_default();
    *request.headers_mut() = headers;
    request
}

/// Compares keys in constant time; the scheme's name has no case.
fn authorize(headers: &HeaderMap, wanted: Option<&HeaderValue>) -> Result<(), RouteError> {
    let Some(wanted) = wanted else { return Ok(()) };
    let given = headers.get(header::AUTHORIZATION).map_or(&[] as &[u8], HeaderValue::as_bytes);
    let (scheme, key) = given.split_at(given.len().min(BEARER.len()));
    let (_, wanted) = wanted.as_bytes().split_at(wanted.len().min(BEARER.len()));
    let same = bool::from(key.ct_eq(wanted));
    (same && scheme.eq_ignore_ascii_case(BEARER)).then_some(()).ok_or(RouteError::Unauthorized)
}

const BEARER: &[u8] = b"Bearer ";

// === impl RouterFuture ===

impl RouterFuture {
    /// The answer to a request that is cut off because the router stops.
    fn stopped(&self) -> Response<RouterBody> {
        let mut response = answer::error(&RouteError::Stopping);
        let Some(slot) = &self.slot else { return response };
        let way = Upstream { refused: true, ..slot.upstream().unwrap_or_default() };
        response.extensions_mut().insert(way);
        if let Some(id) = slot.id().and_then(|id| HeaderValue::from_str(id).ok()) {
            response.headers_mut().insert(headers::REQUEST_ID, id);
        }
        response
    }
}

impl Future for RouterFuture {
    type Output = Result<Response<RouterBody>, Infallible>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let answer = self.answer.as_mut().poll(cx);
        if answer.is_pending() && self.end.poll(cx) {
            return Poll::Ready(Ok(self.stopped()));
        }
        answer.map(Ok)
    }
}

impl fmt::Debug for RouterFuture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RouterFuture").finish_non_exhaustive()
    }
}
