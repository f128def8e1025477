//! The routes of the serving port.

use http::Method;
use plimsoll_wire::Endpoint;

use crate::RouteError;

/// What a request is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Route {
    /// An inference request, for a worker or a pair of them.
    Inference(Endpoint),
    /// What workers serve, all together.
    Models,
    /// What one worker says of itself.
    Info,
    /// The process serves.
    Liveness,
    /// Each needed role has a worker.
    Readiness,
    /// One worker of each role generates.
    HealthGenerate,
}

// === impl Route ===

impl Route {
    pub(crate) fn find(method: &Method, path: &str, metrics: &str) -> Result<Self, RouteError> {
        let (route, allow) = match path {
            "/v1/models" => (Self::Models, "GET"),
            "/get_model_info" | "/model_info" | "/get_server_info" | "/server_info"
            | "/v1/loads" => (Self::Info, "GET"),
            "/health" | "/liveness" => (Self::Liveness, "GET"),
            "/readiness" => (Self::Readiness, "GET"),
            "/health_generate" => (Self::HealthGenerate, "GET"),
            "/metrics" => return Err(RouteError::MetricsElsewhere(metrics.to_owned())),
            _ => match Endpoint::from_path(path) {
                Some(Endpoint::Other) | None => {
                    return Err(RouteError::NotFound { path: path.to_owned() });
                }
                Some(endpoint) => (Self::Inference(endpoint), "POST"),
            },
        };
        // Where GET is known, so is HEAD: the server sends no body for it.
        let known = method.as_str() == allow || (method == Method::HEAD && allow == "GET");
        known.then_some(route).ok_or_else(|| RouteError::Method { path: path.to_owned(), allow })
    }

    /// Needs no key: probes have none.
    pub(crate) fn is_open(self) -> bool {
        matches!(self, Self::Liveness | Self::Readiness)
    }
}

#[cfg(test)]
mod tests {
    use http::{Method, StatusCode};
    use plimsoll_wire::Endpoint;

    use super::Route;

    #[test]
    fn routes_by_method_and_path() {
        let find =
            |method, path| Route::find(&method, path, "here").map_err(|error| error.status());
        assert_eq!(find(Method::POST, "/generate"), Ok(Route::Inference(Endpoint::Generate)));
        assert_eq!(find(Method::HEAD, "/health"), Ok(Route::Liveness));
        assert_eq!(find(Method::GET, "/generate"), Err(StatusCode::METHOD_NOT_ALLOWED));
        assert_eq!(find(Method::POST, "/v1/models"), Err(StatusCode::METHOD_NOT_ALLOWED));
        assert_eq!(find(Method::GET, "/metrics"), Err(StatusCode::NOT_FOUND));
        assert_eq!(find(Method::POST, "/v1/unheard-of"), Err(StatusCode::NOT_FOUND));
    }
}
