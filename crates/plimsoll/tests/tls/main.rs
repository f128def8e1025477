//! TLS on both sides: the real binary, and certificates made for the test.

mod authority;
mod client;
mod engine;
mod files;
mod router;
mod serving;
mod upstream;

use std::{future::Future, pin::Pin, time::Duration};

use tokio::time::timeout;

/// No test runs longer.
const TEST: Duration = Duration::from_secs(60);

/// A request for a chat completion.
const CHAT: &str = "/v1/chat/completions";
const ASK: &str = r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"max_tokens":3}"#;

/// A test within its time limit.
fn bounded<'a>(test: impl Future<Output = ()> + 'a) -> Pin<Box<dyn Future<Output = ()> + 'a>> {
    Box::pin(async move {
        let ended = timeout(TEST, Box::pin(test)).await;
        assert!(ended.is_ok(), "the test took longer than {TEST:?}");
    })
}
