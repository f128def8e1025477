//! TLS on both sides, with certificates made for the test.

mod authority;
mod client;
mod engine;
mod files;
mod serving;
mod upstream;

const CHAT: &str = "/v1/chat/completions";

/// How many tokens the answers have.
const SHORT: &str = ",\"max_tokens\":3";
