//! More than there is room for: who waits, who is refused, and in which order they are served.

mod bursts;
mod fullness;
mod line;
mod room;

use plimsoll_sim::{SimConfig, SimEngine};

use crate::support::{Answer, Exchange, Page, Plimsoll, chat, sim};

const CHAT: &str = "/v1/chat/completions";

/// A stream that ends only when its client leaves.
const ENDLESS: &str = ",\"stream\":true,\"max_tokens\":30000,\"ignore_eos\":true";

/// A plain engine that writes a token each 10 ms, behind a router.
async fn slow(flags: &str) -> (Plimsoll, SimEngine) {
    let interval = std::time::Duration::from_millis(10);
    let engine = sim(SimConfig::default().token_interval(interval)).await;
    (Plimsoll::start(&format!("--worker-urls {} {flags}", engine.url())).await, engine)
}

/// A client whose stream has begun.
async fn streaming(router: &Plimsoll, more: &str) -> Exchange {
    let mut client = router.post(CHAT, chat(more)).open().await;
    client.until("\"content\":\"").await;
    client
}

/// The page once so many requests wait.
async fn waiting(router: &Plimsoll, count: u64) -> Page {
    router.page_when(|page| page.count("plimsoll_queue_depth", &[]) == count).await
}

/// A refusal that says when to come again, in the OpenAI shape: its message.
#[track_caller]
fn refused(answer: &Answer, status: u16, code: &str) -> String {
    assert_eq!((answer.status, &answer.json()["error"]["code"]), (status, &code.into()));
    let seconds: u64 = answer.header("retry-after").expect("a time").parse().expect("seconds");
    assert!(seconds > 0);
    answer.error()
}
