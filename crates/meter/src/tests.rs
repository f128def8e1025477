//! The layer over scripted services, its clock paused.

mod drain;
mod framing;
mod genai;
mod outcomes;
mod page;
mod partial;
mod plugin;
mod shapes;
mod smg;
mod tenants;
mod timing;

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
    time::Duration,
};

use bytes::Bytes;
use http::{Request, Response};
use http_body::Frame;
use http_body_util::{BodyExt, StreamBody, combinators::BoxBody};
use tower::{Layer, ServiceExt, service_fn};

use crate::{MeterLayer, Record, Sink, sink_fn};

type Body = BoxBody<Bytes, std::io::Error>;

const TOKEN: &str = "data: {\"model\":\"m\",\"choices\":[{\"delta\":{\"content\":\"x\"}}]}\n\n";
const ROLE: &str =
    "data: {\"choices\":[{\"delta\":{\"role\":\"assistant\",\"content\":\"\"}}]}\n\n";
const REASONING: &str = "data: {\"choices\":[{\"delta\":{\"reasoning_content\":\"hm\"}}]}\n\n";
const ERROR: &str = "data: {\"error\":{\"message\":\"kv transfer failed\",\"code\":500}}\n\n";
const DONE: &str = "data: [DONE]\n\n";

fn usage_event(prompt: u64, completion: u64) -> String {
    format!(
        "data: {{\"choices\":[],\"usage\":{{\"prompt_tokens\":{prompt},\"completion_tokens\":{completion}}}}}\n\n"
    )
}

/// One step of a scripted body.
#[derive(Clone)]
enum Step {
    Wait(u64),
    Send(String),
    Break,
}

/// A body that plays `steps`; waits are in milliseconds.
fn scripted(steps: Vec<Step>) -> Body {
    let stream = futures_util::stream::unfold(steps.into_iter(), |mut steps| async {
        loop {
            match steps.next()? {
                Step::Wait(millis) => tokio::time::sleep(Duration::from_millis(millis)).await,
                Step::Send(text) => break Some((Ok(Frame::data(Bytes::from(text))), steps)),
                Step::Break => break Some((Err(std::io::Error::other("reset")), steps)),
            }
        }
    });
    BodyExt::boxed(StreamBody::new(stream))
}

fn sent(pieces: &[&str]) -> Vec<Step> {
    pieces.iter().map(|piece| Step::Send((*piece).to_owned())).collect()
}

fn event_stream(steps: Vec<Step>) -> Response<Body> {
    let response = Response::builder().header("content-type", "text/event-stream; charset=utf-8");
    response.body(scripted(steps)).unwrap()
}

fn full(body: impl Into<Bytes>) -> Body {
    http_body_util::Full::new(body.into()).map_err(|never: Infallible| match never {}).boxed()
}

/// Records as they come.
type Records = Arc<Mutex<Vec<Record>>>;

/// A layer whose records can be looked at.
fn recording() -> (MeterLayer<impl Sink>, Records) {
    let records = Records::default();
    let seen = records.clone();
    (
        MeterLayer::new(sink_fn(move |record: &Record| seen.lock().unwrap().push(record.clone()))),
        records,
    )
}

/// Sends one request through the layer over a service that answers `response`, reads at most
/// `frames` of the answer and drops it.
async fn exchange(path: &str, response: Response<Body>, frames: usize) -> Records {
    let (layer, records) = recording();
    let response = Mutex::new(Some(response));
    let service = layer.layer(service_fn(move |_: Request<Body>| {
        std::future::ready(Ok::<_, Infallible>(response.lock().unwrap().take().unwrap()))
    }));
    let request = Request::post(path).body(full("")).unwrap();
    let mut body = service.oneshot(request).await.unwrap().into_body();
    assert!(records.lock().unwrap().is_empty() || http_body::Body::is_end_stream(&body));
    for _ in 0..frames {
        if !matches!(body.frame().await, Some(Ok(_))) {
            break;
        }
    }
    drop(body);
    records
}

async fn one(path: &str, response: Response<Body>, frames: usize) -> Record {
    let records = exchange(path, response, frames).await;
    let mut records = records.lock().unwrap();
    assert_eq!(records.len(), 1, "{records:?}");
    records.remove(0)
}
