//! The metrics listener.

use std::{convert::Infallible, io::Write, sync::Arc};

use bytes::Bytes;
use flate2::{Compression, write::GzEncoder};
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::{server::conn::http1, service::service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use plimsoll::Exporter;
use tokio::{net::TcpListener, task::JoinSet};

use super::{accept::Acceptor, readings::Readings};
use crate::dashboard;

/// What is served.
#[derive(Clone, Debug)]
pub(super) struct Pages {
    pub(super) exporter: Exporter,
    pub(super) readings: Arc<Readings>,
}

/// The text format that Prometheus reads.
const TEXT_FORMAT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// Serves the page until the task is dropped.
pub(super) async fn serve(listener: TcpListener, pages: Pages) {
    let (mut acceptor, mut connections) = (Acceptor::new(listener), JoinSet::new());
    loop {
        tokio::select! {
            socket = acceptor.next() => {
                let pages = pages.clone();
                let service = service_fn(move |request| {
                    std::future::ready(Ok::<_, Infallible>(answer(&request, &pages)))
                });
                let mut builder = http1::Builder::new();
                builder.timer(TokioTimer::new());
                connections.spawn(builder.serve_connection(TokioIo::new(socket), service));
            }
            // Ends are taken in so that the set does not grow.
            Some(_) = connections.join_next() => {}
        }
    }
}

fn answer<B>(request: &Request<B>, pages: &Pages) -> Response<Full<Bytes>> {
    if !matches!(*request.method(), Method::GET | Method::HEAD) {
        let mut response = text(StatusCode::METHOD_NOT_ALLOWED, "only GET is known here\n".into());
        response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    match request.uri().path() {
        "/metrics" | "/metrics/" => {
            let page = pages.exporter.page().into();
            zipped(request.headers(), TEXT_FORMAT, page)
        }
        "/kv" => {
            let report = pages.readings.json().into();
            zipped(request.headers(), "application/json", report)
        }
        "/healthz" => text(StatusCode::OK, "ok\n".into()),
        "/" => {
            let page = Bytes::from_static(dashboard::PAGE.as_bytes());
            let mut response = zipped(request.headers(), "text/html; charset=utf-8", page);
            let policy = HeaderValue::from_static(dashboard::POLICY);
            response.headers_mut().insert(header::CONTENT_SECURITY_POLICY, policy);
            response
        }
        _ => text(StatusCode::NOT_FOUND, "not here: the metrics are at /metrics\n".into()),
    }
}

/// A page, zipped where that is wanted.
fn zipped(headers: &HeaderMap, content_type: &'static str, page: Bytes) -> Response<Full<Bytes>> {
    let zipped = accepts_gzip(headers).then(|| gzip(&page)).flatten();
    let is_zipped = zipped.is_some();
    let mut response = text(StatusCode::OK, zipped.unwrap_or(page));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    headers.insert(header::VARY, HeaderValue::from_static("accept-encoding"));
    if is_zipped {
        headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    response
}

fn accepts_gzip(headers: &HeaderMap) -> bool {
    let given = headers.get_all(header::ACCEPT_ENCODING).iter();
    let mut encodings =
        given.filter_map(|value| value.to_str().ok()).flat_map(|value| value.split(','));
    encodings.any(|encoding| {
        let mut parts = encoding.split(';').map(str::trim);
        parts.next() == Some("gzip")
            && !parts
                .any(|part| part.starts_with("q=0") && part.trim_end_matches(['0', '.']) == "q=")
    })
}

fn gzip(page: &[u8]) -> Option<Bytes> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(page).ok()?;
    encoder.finish().ok().map(Bytes::from)
}

fn text(status: StatusCode, body: Bytes) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    let plain = HeaderValue::from_static("text/plain; charset=utf-8");
    response.headers_mut().insert(header::CONTENT_TYPE, plain);
    response
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use http::Request;
    use http_body_util::BodyExt;
    use plimsoll::Exporter;

    use super::{TEXT_FORMAT, accepts_gzip, zipped};

    #[test]
    fn gzip_where_it_is_wanted() {
        for (given, want) in [
            ("gzip", true),
            ("deflate, gzip;q=0.5", true),
            ("gzip;q=0", false),
            ("gzip; q=0.0", false),
            ("br", false),
        ] {
            let request = Request::get("/").header("accept-encoding", given).body(()).unwrap();
            assert_eq!(accepts_gzip(request.headers()), want, "{given}");
        }
    }

    #[tokio::test]
    async fn the_zipped_page_is_the_page() {
        let rendered = Exporter::new().page();
        let request = Request::get("/metrics").header("accept-encoding", "gzip").body(()).unwrap();
        let response = zipped(request.headers(), TEXT_FORMAT, rendered.clone().into());
        assert_eq!(response.headers()["content-encoding"], "gzip");
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let mut page = String::new();
        flate2::read::GzDecoder::new(&*body).read_to_string(&mut page).unwrap();
        assert_eq!(page, rendered);
    }
}
