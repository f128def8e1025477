//! Errors and the shapes they are told in.

use std::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use plimsoll_wire::Role;
use serde::Serialize;
use serde_json::Value;

/// The event a scripted fault sends as SGLang.
pub(super) const FLAT_FAULT: &[u8] = b"data: {\"error\": {\"object\": \"error\", \"message\": \
    \"Scripted fault\", \"type\": \"INTERNAL_SERVER_ERROR\", \"param\": null, \"code\": 500}}\n\n";

/// The event a scripted fault sends as vLLM.
pub(super) const NESTED_FAULT: &[u8] = b"data: {\"error\": {\"message\": \"Scripted fault\", \
    \"type\": \"InternalServerError\", \"param\": null, \"code\": 500}}\n\n";

/// How an API tells errors.
#[derive(Debug, Clone, Copy)]
pub(super) enum Shape {
    /// SGLang's OpenAI routes.
    Flat,
    /// vLLM.
    Nested,
    /// `/generate`.
    Native,
}

/// Why a request cannot be served.
#[derive(Debug, Clone)]
pub(crate) struct Problem {
    status: StatusCode,
    /// `type` of the flat JSON.
    kind: &'static str,
    message: String,
    /// The field at fault, where it is told.
    param: Option<String>,
    /// A refusal that `/generate` puts into the stream if one was asked for.
    streamed: bool,
}

/// The flat shape of the OpenAI routes.
#[derive(Serialize)]
struct Flat<'a> {
    object: &'a str,
    message: &'a str,
    r#type: &'a str,
    param: Option<()>,
    code: u16,
}

/// What vLLM tells.
#[derive(Serialize)]
struct Fault<'a> {
    message: &'a str,
    r#type: &'a str,
    param: Option<&'a str>,
    code: u16,
}

#[derive(Serialize)]
struct Nested<T> {
    error: T,
}

#[derive(Serialize)]
struct Message<'a> {
    message: &'a str,
}

#[derive(Serialize)]
struct NativeEvent<'a> {
    message: &'a str,
    r#type: &'a str,
    code: u16,
    retryable: bool,
}

// === impl Problem ===

impl Problem {
    /// A request SGLang's own checks refuse.
    pub(crate) fn bad(message: impl Into<String>) -> Self {
        let (status, kind) = (StatusCode::BAD_REQUEST, "BadRequestError");
        Self { status, kind, message: message.into(), param: None, streamed: false }
    }

    /// A request body the schema refuses.
    pub(crate) fn schema(message: String) -> Self {
        Self { kind: "Bad Request", ..Self::bad(message) }
    }

    /// A prompt beyond the context.
    pub(crate) fn too_long(tokens: usize, limit: u64) -> Self {
        let message = format!(
            "The input ({tokens} tokens) is longer than the model's context length ({limit} \
             tokens)."
        );
        Self { streamed: true, ..Self::bad(message) }
    }

    /// A request to one half of a pair that names no room.
    pub(crate) fn no_room(rid: &str) -> Self {
        Self::bad(format!(
            "Invalid request: Disaggregated request received without bootstrap room id. \
             req.rid='{rid}'"
        ))
    }

    /// The other half of the pair did not come in time.
    pub(crate) fn timed_out(role: Role, rid: &str, room: u64, after: Duration) -> Self {
        let after = after.as_secs_f64();
        let cause = |state| {
            format!(
                "KVTransferError(bootstrap_room={room}): Request {room} timed out after \
                 {after:?}s in KVPoll.{state}"
            )
        };
        let message = if role == Role::Decode {
            let cause = cause("WaitingForInput");
            format!(
                "Decode transfer failed for request rank=0 decode_req.req.rid='{rid}' \
                 decode_req.req.bootstrap_room={room} with exception {cause}"
            )
        } else {
            let cause = cause("Bootstrapping");
            format!(
                "Prefill bootstrap failed for request rank=0 req.rid='{rid}' \
                 req.bootstrap_room={room} with exception {cause}"
            )
        };
        let status = StatusCode::INTERNAL_SERVER_ERROR;
        Self { status, kind: "500", message, param: None, streamed: true }
    }

    /// vLLM: something went wrong within.
    pub(crate) fn internal() -> Self {
        let (status, kind) = (StatusCode::INTERNAL_SERVER_ERROR, "InternalServerError");
        Self { status, kind, ..Self::bad("Internal server error") }
    }

    /// vLLM: the engine's core has died.
    pub(crate) fn engine_dead() -> Self {
        let message =
            "EngineCore encountered an issue. See stack trace (above) for the root cause.";
        Self { message: message.to_owned(), ..Self::internal() }
    }

    /// vLLM: there is no such model.
    pub(super) fn no_model(name: &str, served: &str) -> Self {
        let message = format!("The model `{name}` does not exist. Valid aliases: {served}.");
        let (status, kind) = (StatusCode::NOT_FOUND, "NotFoundError");
        Self { status, kind, ..Self::bad(message) }.about("model")
    }

    /// Names the field at fault.
    pub(super) fn about(self, field: impl Into<String>) -> Self {
        Self { param: Some(field.into()), ..self }
    }

    /// Whether `/generate` streams the refusal with status 200.
    pub(crate) fn is_streamed(&self) -> bool {
        self.streamed
    }

    pub(crate) fn status(&self) -> StatusCode {
        self.status
    }

    /// The whole answer.
    pub(super) fn json(&self, shape: Shape) -> Vec<u8> {
        match shape {
            Shape::Flat => self.flat(),
            Shape::Nested => self.nested(),
            Shape::Native => self.native(),
        }
    }

    /// The event within a stream.
    pub(super) fn event(&self, shape: Shape) -> Bytes {
        match shape {
            Shape::Flat => self.flat_event(),
            Shape::Nested => self.nested_event(),
            Shape::Native => self.native_event(),
        }
    }

    fn flat(&self) -> Vec<u8> {
        let flat = Flat {
            object: "error",
            message: &self.message,
            r#type: self.kind,
            param: None,
            code: self.status.as_u16(),
        };
        serde_json::to_vec(&flat).unwrap_or_default()
    }

    /// Spaced as Python's `json.dumps` does.
    fn flat_event(&self) -> Bytes {
        let kind = match self.status {
            StatusCode::BAD_REQUEST => "BAD_REQUEST",
            _ => "INTERNAL_SERVER_ERROR",
        };
        let message = serde_json::to_string(&self.message).unwrap_or_default();
        let code = self.status.as_u16();
        let event = format!(
            "data: {{\"error\": {{\"object\": \"error\", \"message\": {message}, \"type\": \
             \"{kind}\", \"param\": null, \"code\": {code}}}}}\n\n"
        );
        event.into()
    }

    fn nested(&self) -> Vec<u8> {
        let error = self.nested_error();
        serde_json::to_vec(&Nested { error }).unwrap_or_default()
    }

    /// Spaced as Python's `json.dumps` does.
    fn nested_event(&self) -> Bytes {
        let Fault { message, r#type, param, code } = self.nested_error();
        let [message, param] = [Some(message), param].map(Value::from);
        let event = format!(
            "data: {{\"error\": {{\"message\": {message}, \"type\": \"{type}\", \"param\": {param}, \
             \"code\": {code}}}}}\n\n"
        );
        event.into()
    }

    fn nested_error(&self) -> Fault<'_> {
        Fault {
            message: &self.message,
            r#type: self.kind,
            param: self.param.as_deref(),
            code: self.status.as_u16(),
        }
    }

    fn native(&self) -> Vec<u8> {
        let nested = Nested { error: Message { message: &self.message } };
        serde_json::to_vec(&nested).unwrap_or_default()
    }

    fn native_event(&self) -> Bytes {
        let bad = self.status == StatusCode::BAD_REQUEST;
        let r#type = if bad { "invalid_request_error" } else { "internal_server_error" };
        let code = self.status.as_u16();
        let event = NativeEvent { message: &self.message, r#type, code, retryable: false };
        super::run::event(&Nested { error: event })
    }
}
