//! What a bill rests on: the usage log, tenants, clients that leave, and that all counts agree.

mod apis;
mod conservation;
mod engines;
mod leaving;
mod log;
mod tenants;

use serde_json::Value;

const CHAT: &str = "/v1/chat/completions";

/// Where a record's completeness is `exact`: prompt and completion tokens.
fn exact(line: &Value) -> Option<(u64, u64)> {
    let count = |name: &str| line["usage"][name].as_u64();
    (line["completeness"] == "exact").then(|| Some((count("prompt")?, count("completion")?)))?
}
