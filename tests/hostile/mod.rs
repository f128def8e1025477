//! Clients and engines that break the rules, or use them to do harm: what they get, that nothing
//! reaches an engine that should not, and that the router stays up and small.
//!
//! `SECURITY.md` lists what is shown here and elsewhere.

mod ahead;
mod answers;
mod expectations;
mod frames;
mod framing;
mod heads;
mod http2;
mod json;
mod listings;
mod many;
mod pages;
mod rogue;
mod slow;
mod stopping;

use plimsoll_sim::replay::{ReplayServer, Reply};

use self::rogue::Rogue;
use crate::support::{Plimsoll, replay};

const CHAT: &str = "/v1/chat/completions";

/// An answer that a client may take for one.
const ANSWER: &str =
    r#"{"model":"replay","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#;

/// The beginning of the head of a chat request.
const POST: &str = "POST /v1/chat/completions HTTP/1.1\r\nhost: router\r\n";

/// The smallest request.
const BODY: &str = r#"{"model":"m"}"#;

fn good() -> Reply {
    Reply::json(200, ANSWER)
}

/// A good engine behind a router.
async fn served(flags: &str) -> (Plimsoll, ReplayServer) {
    let engine = replay(|_| good()).await;
    (Plimsoll::start(&format!("--worker-urls {} {flags}", engine.url())).await, engine)
}

/// The router serves, and at no time took much more memory than it had taken `before`.
async fn assert_well(router: &Plimsoll, before: u64, most: u64) {
    let grown = router.peak().saturating_sub(before);
    println!("it grew by {} kB", grown >> 10);
    assert!(grown < most, "{grown}");
    assert_eq!(router.get("/health").send().await.status, 200);
    assert_eq!(router.ask_metrics("/healthz").send().await.status, 200);
}

/// A whole request in chunks that are as they should be.
fn chunked(head: &str) -> String {
    format!("{POST}{head}\r\n{:x}\r\n{BODY}\r\n0\r\n\r\n", BODY.len())
}

/// A whole request.
fn whole(head: &str) -> String {
    format!("{POST}{head}content-length: {}\r\n\r\n{BODY}", BODY.len())
}

/// Answers of the router's own have it; a connection's last one may not.
fn statuses(text: &str) -> Vec<&str> {
    let heads = text.split("HTTP/1.1 ").skip(1);
    heads.map(|head| head.get(..3).unwrap_or_default()).collect()
}
