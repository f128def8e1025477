//! Request bodies reach the engines as the client wrote them, but for what the router puts in, and
//! those that must not reach them do not.

mod edits;
mod refused;

use plimsoll_sim::replay::Reply;

use crate::support::Pair;

/// A pair that answers everything with a small JSON answer.
async fn pair(flags: &str) -> Pair {
    Pair::start(flags, |_| Reply::json(200, ANSWER), |_| Reply::json(200, ANSWER)).await
}

const ANSWER: &str =
    r#"{"model":"replay","choices":[],"usage":{"prompt_tokens":3,"completion_tokens":2}}"#;
