//! How engines are reached: the same for requests, probes and readings.

use std::fmt;

use plimsoll_router::RouterConfig;
use plimsoll_scrape::ScrapeConfig;

/// Whom to trust among engines at `https://` URLs, and who to be to them. Nothing in a build without
/// TLS. Keys are not shown.
#[derive(Clone, Default)]
pub(crate) struct Upstream {
    #[cfg(feature = "tls")]
    tls: Option<std::sync::Arc<rustls::ClientConfig>>,
}

// === impl Upstream ===

impl Upstream {
    #[cfg(feature = "tls")]
    pub(crate) fn new(tls: std::sync::Arc<rustls::ClientConfig>) -> Self {
        Self { tls: Some(tls) }
    }

    /// For requests and probes.
    pub(crate) fn route(&self, config: RouterConfig) -> RouterConfig {
        #[cfg(feature = "tls")]
        let config = {
            let mut config = config;
            config.tls.clone_from(&self.tls);
            config
        };
        config
    }

    /// For readings.
    pub(crate) fn read(&self, config: ScrapeConfig) -> ScrapeConfig {
        #[cfg(feature = "tls")]
        let config = ScrapeConfig { tls: self.tls.clone(), ..config };
        config
    }
}

impl fmt::Debug for Upstream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Upstream(…)")
    }
}
