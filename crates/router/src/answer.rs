//! Answers that the router makes itself.

use bytes::Bytes;
use http::{HeaderValue, Response, StatusCode, header};
use plimsoll_wire::Upstream;
use serde::Serialize;

use crate::{RouteError, RouterBody};

/// An error in the form of the OpenAI API.
#[derive(Serialize)]
struct ErrorAnswer<'a> {
    error: ErrorMembers<'a>,
}

#[derive(Serialize)]
struct ErrorMembers<'a> {
    message: String,
    #[serde(rename = "type")]
    kind: &'static str,
    param: Option<&'a str>,
    code: &'static str,
}

/// The answer that says `error`.
pub(crate) fn error(error: &RouteError) -> Response<RouterBody> {
    let mut response = json_of(error.status(), &ErrorAnswer::new(error));
    let upstream = Upstream {
        refused: error.is_refusal(),
        client_left: matches!(error, RouteError::ClientLeft),
        ..Upstream::default()
    };
    response.extensions_mut().insert(upstream);
    if let Some(seconds) = error.retry_after() {
        response.headers_mut().insert(header::RETRY_AFTER, seconds.into());
    }
    match error {
        RouteError::Method { allow, .. } => {
            response.headers_mut().insert(header::ALLOW, HeaderValue::from_static(allow));
        }
        RouteError::Unauthorized => {
            let scheme = HeaderValue::from_static("Bearer");
            response.headers_mut().insert(header::WWW_AUTHENTICATE, scheme);
        }
        _ => {}
    }
    response
}

/// The event that says `error` within a stream.
pub(crate) fn error_event(error: &RouteError) -> Bytes {
    [b"data: ", to_json(&ErrorAnswer::new(error)).as_slice(), b"\n\n"].concat().into()
}

/// An answer of JSON.
pub(crate) fn json_of(status: StatusCode, body: &impl Serialize) -> Response<RouterBody> {
    let mut response: Response<RouterBody> = Response::new(Bytes::from(to_json(body)).into());
    *response.status_mut() = status;
    let json = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, json);
    response
}

pub(crate) fn empty(status: StatusCode) -> Response<RouterBody> {
    let mut response: Response<RouterBody> = Response::new(Bytes::new().into());
    *response.status_mut() = status;
    response
}

fn to_json(body: &impl Serialize) -> Vec<u8> {
    // Strings, numbers and what was JSON before: it cannot fail.
    serde_json::to_vec(body).unwrap_or_default()
}

// === impl ErrorAnswer ===

impl<'a> ErrorAnswer<'a> {
    fn new(error: &'a RouteError) -> Self {
        let kind = match error.status() {
            StatusCode::UNAUTHORIZED => "authentication_error",
            StatusCode::FORBIDDEN => "permission_error",
            StatusCode::NOT_FOUND => "not_found_error",
            StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
            status if status.is_client_error() => "invalid_request_error",
            _ => "server_error",
        };
        let message = error.to_string();
        let (param, code) = (error.param(), error.code());
        Self { error: ErrorMembers { message, kind, param, code } }
    }
}
