//! Proxies that only carry bytes, over the same hyper as the router: below these, nothing built on it
//! can get.

use std::{future::pending, io, net::SocketAddr, time::Duration};

use bytes::Bytes;
use http::{HeaderMap, HeaderName, Request, Response, Uri, header, uri::Scheme};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use hyper::body::Incoming;
use hyper_util::{
    client::legacy::{self, connect::HttpConnector},
    rt::{TokioExecutor, TokioTimer},
};
use plimsoll::Exporter;
use tower::service_fn;
use tower_layer::Layer;

use crate::{BoxError, engine::Engines, router::keep_up, threads::Threads};

type Client<B> = legacy::Client<HttpConnector, B>;

/// As the router has it.
const POOL_IDLE: Duration = Duration::from_secs(4);

/// Headers that speak of one connection only, and the name of the host, which is another's.
const OF_CONNECTION: [HeaderName; 8] = [
    header::CONNECTION,
    header::HOST,
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-connection"),
    header::TE,
    header::TRAILER,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// Starts a proxy that passes each request on to one engine as it comes.
pub(crate) fn one_leg(engines: &Engines) -> io::Result<Threads> {
    let engine = engines.plain(1)[0];
    let service = || {
        let client = client();
        service_fn(move |request: Request<Incoming>| pass(client.clone(), engine, request))
    };
    Threads::start(service, pending())
}

/// Starts the same with the accounting of the `plimsoll` library over it.
pub(crate) fn layer(engines: &Engines) -> io::Result<Threads> {
    let engine = engines.plain(1)[0];
    let exporter = Exporter::new();
    let service = || {
        let client = client();
        exporter.layer().layer(service_fn(move |request| pass(client.clone(), engine, request)))
    };
    Threads::start(service, keep_up(exporter.clone()))
}

/// Starts a proxy that sends each request to both engines of a pair.
pub(crate) fn two_legs(engines: &Engines) -> io::Result<Threads> {
    let (prefill, decode) = engines.pairs(1);
    let pair = [prefill[0], decode[0]];
    let service = || {
        let client = client();
        service_fn(move |request| send_both(client.clone(), pair, request))
    };
    Threads::start(service, pending())
}

fn client<B: Body<Data = Bytes, Error: Into<BoxError>> + Send>() -> Client<B> {
    let mut connector = HttpConnector::new();
    connector.set_nodelay(true);
    let mut builder = legacy::Client::builder(TokioExecutor::new());
    builder.pool_idle_timeout(POOL_IDLE).pool_timer(TokioTimer::new()).timer(TokioTimer::new());
    builder.build(connector)
}

/// Passes a request on, its body as it comes.
async fn pass<B>(
    client: Client<B>,
    engine: SocketAddr,
    mut request: Request<B>,
) -> Result<Response<Incoming>, BoxError>
where
    B: Body<Data = Bytes, Error: Into<BoxError>> + Send + Unpin + 'static,
{
    *request.uri_mut() = at(engine, request.uri())?;
    strip(request.headers_mut());
    let mut response = client.request(request).await?;
    strip(response.headers_mut());
    Ok(response)
}

/// Sends a request to both engines at the same time. The answer is that of decode; that of prefill is
/// read to its end.
async fn send_both(
    client: Client<Full<Bytes>>,
    [prefill, decode]: [SocketAddr; 2],
    request: Request<Incoming>,
) -> Result<Response<Incoming>, BoxError> {
    let (mut parts, body) = request.into_parts();
    let body = Full::new(body.collect().await?.to_bytes());
    strip(&mut parts.headers);
    let mut prefill_parts = parts.clone();
    prefill_parts.uri = at(prefill, &parts.uri)?;
    parts.uri = at(decode, &parts.uri)?;
    let prefill = client.request(Request::from_parts(prefill_parts, body.clone()));
    let decode = client.request(Request::from_parts(parts, body));
    let prefill = async {
        let mut answer = prefill.await?.into_body();
        while let Some(frame) = answer.frame().await {
            frame?;
        }
        Ok::<_, BoxError>(())
    };
    let decode = async { Ok(decode.await?) };
    let ((), mut response) = tokio::try_join!(prefill, decode)?;
    strip(response.headers_mut());
    Ok(response)
}

fn strip(headers: &mut HeaderMap) {
    for name in OF_CONNECTION {
        headers.remove(name);
    }
}

/// The same path at an engine.
fn at(engine: SocketAddr, uri: &Uri) -> Result<Uri, http::Error> {
    let path = uri.path_and_query().map_or("/", |path| path.as_str());
    Uri::builder().scheme(Scheme::HTTP).authority(engine.to_string()).path_and_query(path).build()
}
