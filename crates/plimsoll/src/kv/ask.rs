//! What a target is: a router that has read its workers, or an engine that is to be read.

use std::time::Duration;

use http::{HeaderValue, StatusCode};
use plimsoll_scrape::{Report, role_of_mode};
use plimsoll_wire::Role;
use serde::Deserialize;

use super::client::Client;

/// How long one question may take.
const WITHIN: Duration = Duration::from_secs(2);

/// Where SGLang tells its arguments, newest name first.
const SERVER_INFO: [&str; 2] = ["/server_info", "/get_server_info"];

/// What a target turns out to be.
#[derive(Debug)]
pub(super) enum Answer {
    /// A router, and what it has read.
    Router(Box<Report>),
    /// A router's port for clients, and what it says of where its metrics are.
    ClientPort(String),
    /// Anything else, or nobody; its role, if it says one.
    Engine(Option<Role>),
}

/// What is of interest among SGLang's arguments.
#[derive(Debug, Deserialize)]
struct ServerInfo {
    disaggregation_mode: Option<String>,
}

/// An error in OpenAI's form.
#[derive(Debug, Deserialize)]
struct Refusal {
    error: RefusalError,
}

#[derive(Debug, Deserialize)]
struct RefusalError {
    message: String,
}

/// Asks the target at the base URL `target`. A router is asked without the key, which is not for it.
pub(super) async fn ask(client: Client, target: &str, key: Option<HeaderValue>) -> Answer {
    match client.get(&format!("{target}/kv"), None, WITHIN).await {
        Ok((StatusCode::OK, body)) => {
            if let Ok(report) = serde_json::from_slice(&body) {
                return Answer::Router(Box::new(report));
            }
        }
        Ok((StatusCode::NOT_FOUND, body)) => {
            if let Some(place) = elsewhere(&body) {
                return Answer::ClientPort(place);
            }
        }
        Ok(_) => {}
        Err(_) => return Answer::Engine(None),
    }
    for path in SERVER_INFO {
        let answer = client.get(&format!("{target}{path}"), key.as_ref(), WITHIN).await;
        if let Ok((StatusCode::OK, body)) = answer {
            return Answer::Engine(Some(role(&body)));
        }
    }
    Answer::Engine(None)
}

/// What a router says at its port for clients of where its metrics are.
fn elsewhere(body: &[u8]) -> Option<String> {
    let Refusal { error } = serde_json::from_slice(body).ok()?;
    error.message.starts_with("the metrics are at ").then_some(error.message)
}

/// The role that SGLang's arguments tell; whoever tells none does both.
fn role(body: &[u8]) -> Role {
    let mode = serde_json::from_slice::<ServerInfo>(body).ok();
    let mode = mode.and_then(|info| info.disaggregation_mode);
    mode.as_deref().and_then(role_of_mode).unwrap_or(Role::Plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_role_is_what_the_engine_says() {
        for (body, wanted) in [
            (r#"{"disaggregation_mode":"prefill","tp_size":1}"#, Role::Prefill),
            (r#"{"disaggregation_mode":"decode"}"#, Role::Decode),
            (r#"{"disaggregation_mode":"null"}"#, Role::Plain),
            (r#"{"disaggregation_mode":null}"#, Role::Plain),
            (r#"{"version":"0.4.1"}"#, Role::Plain),
            ("<html>", Role::Plain),
        ] {
            assert_eq!(role(body.as_bytes()), wanted, "{body}");
        }
    }
}
