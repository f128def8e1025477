//! A plain hyper server, no framework: its tokens counted, and errors told apart by model too.
//!
//! ```text
//! cargo run -p examples --example embed_hyper -- 3000
//! ```
//!
//! The argument is the port (3000; 0 is any free one). The first line on standard output is the
//! address of the chat endpoint, the second that of the page.

use std::{convert::Infallible, error::Error};

use bytes::Bytes;
use http::{Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt, Either, Full};
use hyper::server::conn::http1;
use hyper_util::{rt::TokioIo, service::TowerToHyperService};
use plimsoll::Exporter;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tower::{Layer, ServiceExt, service_fn};

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let port = std::env::args().nth(1).map_or(Ok(3000), |arg| arg.parse())?;
    let exporter = Exporter::new();
    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let address = listener.local_addr()?;
    println!("http://{address}/v1/chat/completions");
    println!("http://{address}/metrics");
    loop {
        let (socket, _) = listener.accept().await?;
        let page = exporter.clone();
        let chat = exporter.layer().layer(service_fn(chat));
        let service = service_fn(move |request: Request<hyper::body::Incoming>| {
            let (page, chat) = (page.clone(), chat.clone());
            async move {
                if request.uri().path() == "/metrics" {
                    let page = Full::new(Bytes::from(page.page()));
                    return Ok::<_, Infallible>(Response::new(Either::Right(page)));
                }
                chat.oneshot(request).await.map(|response| response.map(Either::Left))
            }
        });
        let connection = http1::Builder::new()
            .serve_connection(TokioIo::new(socket), TowerToHyperService::new(service));
        tokio::spawn(connection);
    }
}

/// The service itself. The layer hands it the request's body wrapped, so it takes any body.
async fn chat<B>(request: Request<B>) -> Result<Response<Full<Bytes>>, Infallible>
where
    B: Body<Error: std::fmt::Debug>,
{
    let body = request.into_body().collect().await;
    let asked = body.ok().and_then(|body| serde_json::from_slice::<Value>(&body.to_bytes()).ok());
    let (status, answer) = match asked {
        Some(asked) if asked["messages"].is_array() => (
            StatusCode::OK,
            json!({
                "model": "parrot",
                "choices": [{"message": {"role": "assistant", "content": "Hello there"}}],
                "usage": {"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9},
            }),
        ),
        _ => (StatusCode::BAD_REQUEST, json!({"error": {"message": "messages are missing"}})),
    };
    let mut response = Response::new(Full::new(answer.to_string().into()));
    *response.status_mut() = status;
    Ok(response)
}
