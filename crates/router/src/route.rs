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
    /// Every worker empties its prefix cache.
    FlushCache,
    /// The workers, as the router sees them.
    ListWorkers,
    /// A worker comes.
    AddWorker,
    /// A worker is to go.
    RemoveWorker,
}

/// What stands before the URL of a worker.
const WORKER: &str = "/workers/";

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
            "/flush_cache" => (Self::FlushCache, "POST"),
            "/workers" if *method == Method::POST => (Self::AddWorker, "GET, POST"),
            "/workers" => (Self::ListWorkers, "GET, POST"),
            _ if Self::worker(path).is_some() => (Self::RemoveWorker, "DELETE"),
            "/metrics" | "/kv" => return Err(RouteError::MetricsElsewhere(metrics.to_owned())),
            _ => match Endpoint::from_path(path) {
                Some(Endpoint::Other) | None => {
                    return Err(RouteError::NotFound { path: path.to_owned() });
                }
                Some(endpoint) => (Self::Inference(endpoint), "POST"),
            },
        };
        // Where GET is known, so is HEAD: the server sends no body for it.
        let method = if *method == Method::HEAD { &Method::GET } else { method };
        let known = allow.split(", ").any(|allowed| method.as_str() == allowed);
        known.then_some(route).ok_or_else(|| RouteError::Method { path: path.to_owned(), allow })
    }

    /// The percent-encoded URL in the path of one worker.
    pub(crate) fn worker(path: &str) -> Option<&str> {
        path.strip_prefix(WORKER).filter(|url| !url.is_empty())
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
        assert_eq!(find(Method::HEAD, "/workers"), Ok(Route::ListWorkers));
        assert_eq!(find(Method::POST, "/workers"), Ok(Route::AddWorker));
        assert_eq!(find(Method::DELETE, "/workers/http%3A%2F%2Fa"), Ok(Route::RemoveWorker));
        assert_eq!(find(Method::DELETE, "/workers"), Err(StatusCode::METHOD_NOT_ALLOWED));
        assert_eq!(
            find(Method::GET, "/workers/http%3A%2F%2Fa"),
            Err(StatusCode::METHOD_NOT_ALLOWED)
        );
        assert_eq!(find(Method::DELETE, "/workers/"), Err(StatusCode::NOT_FOUND));
        assert_eq!(find(Method::HEAD, "/generate"), Err(StatusCode::METHOD_NOT_ALLOWED));
        for elsewhere in ["/metrics", "/kv"] {
            assert_eq!(find(Method::GET, elsewhere), Err(StatusCode::NOT_FOUND));
        }
        assert_eq!(find(Method::POST, "/v1/unheard-of"), Err(StatusCode::NOT_FOUND));
    }
}
