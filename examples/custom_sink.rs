//! Sinks of a service's own: a closure that counts, and a channel whose other end prints a bill.
//!
//! ```text
//! cargo run -p examples --example custom_sink -- 3000
//! ```
//!
//! The argument is the port (3000; 0 is any free one). The first line on standard output is the
//! address of the chat endpoint; each further one is a finished request: its number, who is charged
//! (by the header `x-team`), model, outcome, and tokens.
//!
//! A sink gets each request once, after its response body has ended, failed or been dropped: too late
//! to stop a request, in time to decide about the next. It is called on the request's own thread and
//! must neither block nor panic, so what takes time is done at the other end of a channel.

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use axum::{Json, Router, routing::post};
use http::HeaderName;
use plimsoll::{MeterLayer, Record, channel, sink_fn, tenant_header};
use serde_json::{Value, json};
use tokio::net::TcpListener;

#[tokio::main]
async fn main() -> Result<(), Box<dyn Error>> {
    let port = std::env::args().nth(1).map_or(Ok(3000), |arg| arg.parse())?;
    let finished = Arc::new(AtomicU64::new(0));
    let count = finished.clone();
    let counter = sink_fn(move |_: &Record| {
        count.fetch_add(1, Ordering::Relaxed);
    });
    let (queue, mut records) = channel(1024);
    let meter =
        MeterLayer::new((counter, queue)).tenant(tenant_header(HeaderName::from_static("x-team"))?);
    let app = Router::new().route("/v1/chat/completions", post(chat)).layer(meter);

    let listener = TcpListener::bind(("127.0.0.1", port)).await?;
    println!("http://{}/v1/chat/completions", listener.local_addr()?);
    tokio::spawn(async move {
        while let Some(record) = records.recv().await {
            println!("{} {}", finished.load(Ordering::Relaxed), bill(&record));
        }
    });
    axum::serve(listener, app).await?;
    Ok(())
}

fn bill(record: &Record) -> String {
    let name = |name: &Option<Arc<str>>| name.as_deref().unwrap_or("unknown").to_owned();
    let tokens = |count: Option<u64>| count.map_or("?".to_owned(), |count| count.to_string());
    let (tenant, model) = (name(&record.tenant), name(&record.model));
    let usage = &record.usage;
    let (prompt, completion) = (tokens(usage.prompt), tokens(usage.completion));
    format!("{tenant} {model} {} {prompt}+{completion}", record.outcome)
}

/// The service itself: it says two tokens, whatever it is asked.
async fn chat(Json(_): Json<Value>) -> Json<Value> {
    let usage = json!({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9});
    let message = json!({"role": "assistant", "content": "Hello there"});
    Json(json!({"model": "parrot", "choices": [{"message": message}], "usage": usage}))
}
