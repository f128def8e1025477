//! The routes of an inference server, by what they do.

use std::fmt;

/// A metered route. The name of each is the value of the `endpoint` label.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Endpoint {
    /// `/v1/chat/completions`
    Chat,
    /// `/v1/completions`
    Completions,
    /// `/generate`, SGLang's own
    Generate,
    /// `/v1/responses`
    Responses,
    /// `/v1/messages`, Anthropic's
    Messages,
    /// `/v1/embeddings`
    Embeddings,
    /// `/v1/rerank`, `/v2/rerank`, `/rerank`
    Rerank,
    /// `/v1/score`, `/score`
    Score,
    /// `/v1/classify`, `/classify`
    Classify,
    /// Anything else below `/v1/`
    Other,
}

// === impl Endpoint ===

impl Endpoint {
    /// Every endpoint, in label order.
    pub const ALL: [Self; 10] = [
        Self::Chat,
        Self::Completions,
        Self::Generate,
        Self::Responses,
        Self::Messages,
        Self::Embeddings,
        Self::Rerank,
        Self::Score,
        Self::Classify,
        Self::Other,
    ];

    /// The endpoint that a path names, or `None` where nothing is to be metered: health, admin and
    /// information routes (`/v1/models`, `/v1/loads`) and paths outside the API.
    pub fn from_path(path: &str) -> Option<Self> {
        Some(match path {
            "/v1/chat/completions" => Self::Chat,
            "/v1/completions" => Self::Completions,
            "/generate" => Self::Generate,
            "/v1/responses" => Self::Responses,
            "/v1/messages" => Self::Messages,
            "/v1/embeddings" => Self::Embeddings,
            "/v1/rerank" | "/v2/rerank" | "/rerank" => Self::Rerank,
            "/v1/score" | "/score" => Self::Score,
            "/v1/classify" | "/classify" => Self::Classify,
            "/v1/models" | "/v1/loads" => return None,
            other if other.starts_with("/v1/") && !other.starts_with("/v1/models/") => Self::Other,
            _ => return None,
        })
    }

    /// The path that clients usually send its requests to; none for [`Other`](Self::Other).
    pub const fn usual_path(self) -> Option<&'static str> {
        Some(match self {
            Self::Chat => "/v1/chat/completions",
            Self::Completions => "/v1/completions",
            Self::Generate => "/generate",
            Self::Responses => "/v1/responses",
            Self::Messages => "/v1/messages",
            Self::Embeddings => "/v1/embeddings",
            Self::Rerank => "/v1/rerank",
            Self::Score => "/v1/score",
            Self::Classify => "/v1/classify",
            Self::Other => return None,
        })
    }

    /// The label value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Completions => "completions",
            Self::Generate => "generate",
            Self::Responses => "responses",
            Self::Messages => "messages",
            Self::Embeddings => "embeddings",
            Self::Rerank => "rerank",
            Self::Score => "score",
            Self::Classify => "classify",
            Self::Other => "other",
        }
    }

    /// Whether a prefill/decode pair can serve it: the engines hand over KV for these three only.
    pub const fn is_paired(self) -> bool {
        matches!(self, Self::Chat | Self::Completions | Self::Generate)
    }

    /// Whether its streams end by a terminal marker.
    pub const fn has_marker(self) -> bool {
        self.is_paired() || matches!(self, Self::Responses | Self::Messages)
    }

    /// Whether its answers are numbers, not text: what counts is the prompt.
    pub const fn is_pooling(self) -> bool {
        matches!(self, Self::Embeddings | Self::Rerank | Self::Score | Self::Classify)
    }

    /// Whether its streams know `stream_options.include_usage`.
    pub const fn has_stream_options(self) -> bool {
        matches!(self, Self::Chat | Self::Completions)
    }
}

impl fmt::Display for Endpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

#[cfg(test)]
mod tests {
    use super::Endpoint;

    #[test]
    fn paths_name_endpoints() {
        for (path, want) in [
            ("/v1/chat/completions", Some(Endpoint::Chat)),
            ("/rerank", Some(Endpoint::Rerank)),
            ("/v1/audio/speech", Some(Endpoint::Other)),
            ("/v1/models", None),
            ("/v1/models/tiny", None),
            ("/v1/loads", None),
            ("/health", None),
            ("/v1/chat/completions/", Some(Endpoint::Other)),
        ] {
            assert_eq!(Endpoint::from_path(path), want, "{path}");
        }
    }

    #[test]
    fn usual_paths_name_their_endpoints() {
        for endpoint in Endpoint::ALL {
            let read = endpoint.usual_path().map(Endpoint::from_path);
            assert_eq!(read.unwrap_or(Some(Endpoint::Other)), Some(endpoint));
        }
    }

    #[test]
    fn all_is_complete_and_in_order() {
        assert!(Endpoint::ALL.is_sorted());
        let last = Endpoint::ALL.last().copied();
        assert_eq!(last.map(|endpoint| endpoint as usize + 1), Some(Endpoint::ALL.len()));
    }
}
