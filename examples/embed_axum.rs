//! A service that knows nothing of routing gets its tokens counted and a metrics page.
//!
//! ```text
//! cargo run -p examples --example embed_axum -- 3000
//! ```
//!
//! The argument is the port (3000; 0 is any free one). The first line on standard output is the
//! address of the chat endpoint, the second that of the page.

use std::{convert::Infallible, error::Error, time::Duration};

use axum::{
    Json, Router,
    body::Body,
    response::{IntoResponse, Response},
    routing::{get, post},
};
use plimsoll::Exporter;
use serde_json::{Value, json};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let port = std::env::args().nth(1).map_or(Ok(3000), |arg| arg.parse())?;
    let exporter = Exporter::new();
    tokio::spawn(upkeep(exporter.clone()));

    let app = Router::new()
        .route("/v1/chat/completions", post(chat))
        .layer(exporter.layer())
        .route("/metrics", get(async move || exporter.page()));

    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    let address = listener.local_addr()?;
    println!("http://{address}/v1/chat/completions");
    println!("http://{address}/metrics");
    axum::serve(listener, app).await?;
    Ok(())
}

/// Keeps the exporter small while nobody asks for its page.
async fn upkeep(exporter: Exporter) {
    let mut every = tokio::time::interval(Duration::from_secs(5));
    loop {
        every.tick().await;
        exporter.upkeep();
    }
}

/// The service itself: it says two tokens, whatever it is asked.
async fn chat(Json(request): Json<Value>) -> Response {
    let usage = json!({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9});
    if request["stream"] != true {
        let message = json!({"role": "assistant", "content": "Hello there"});
        let choice = json!({"index": 0, "message": message, "finish_reason": "stop"});
        return Json(json!({"model": "parrot", "choices": [choice], "usage": usage}))
            .into_response();
    }
    let says = |delta: Value, reason: Value| {
        let choice = json!({"index": 0, "delta": delta, "finish_reason": reason});
        json!({"model": "parrot", "choices": [choice]}).to_string()
    };
    let events = [
        says(json!({"role": "assistant", "content": ""}), Value::Null),
        says(json!({"content": "Hello"}), Value::Null),
        says(json!({"content": " there"}), Value::Null),
        says(json!({}), json!("stop")),
        json!({"model": "parrot", "choices": [], "usage": usage}).to_string(),
        "[DONE]".to_owned(),
    ];
    let events = events.map(|event| Ok::<_, Infallible>(format!("data: {event}\n\n")));
    let body = Body::from_stream(futures_util::stream::iter(events));
    ([("content-type", "text/event-stream")], body).into_response()
}
