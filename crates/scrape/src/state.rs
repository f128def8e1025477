use std::fmt;

use crate::{page::Page, reading::Pool};

/// How reading a worker went. Where its values came from is another matter: one that is `Disabled`
/// may have values from `/v1/loads`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum State {
    /// It was not asked yet.
    #[default]
    Pending,
    /// Its page says how full the KV cache is.
    Ok,
    /// Its data ranks cannot be told apart (SGLang up to 0.4.9).
    Partial,
    /// Its page says what the cache holds, and not yet how full it is: no batch has run.
    CapacityOnly,
    /// Its page says nothing of a KV cache.
    NoKvMetric,
    /// Its page is empty.
    Empty,
    /// It has no page: 404.
    Disabled,
    /// It wants another key: 401 or 403.
    Unauthorized,
    /// It cannot be reached.
    Unreachable,
    /// It did not answer in time.
    Timeout,
    /// What it answers cannot be read.
    Malformed,
    /// It answers, and what it says is old.
    Stale,
    /// The engine has given its memory back.
    Sleeping,
}

// === impl State ===

impl State {
    /// Every state, in the order of the contract.
    pub const ALL: [Self; 13] = [
        Self::Pending,
        Self::Ok,
        Self::Partial,
        Self::CapacityOnly,
        Self::NoKvMetric,
        Self::Empty,
        Self::Disabled,
        Self::Unauthorized,
        Self::Unreachable,
        Self::Timeout,
        Self::Malformed,
        Self::Stale,
        Self::Sleeping,
    ];

    /// The state of a page that was read.
    pub(crate) fn of(page: &Page, pools: &[Pool], mixed: bool) -> Self {
        let says = |value: fn(&Pool) -> Option<f64>| pools.iter().any(|pool| value(pool).is_some());
        if page.is_blank {
            Self::Empty
        } else if mixed {
            Self::Partial
        } else if says(|pool| pool.usage_ratio) || says(|pool| pool.used) {
            Self::Ok
        } else if says(|pool| pool.capacity) {
            Self::CapacityOnly
        } else if page.is_asleep() {
            Self::Sleeping
        } else {
            Self::NoKvMetric
        }
    }

    /// The label value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Pending => "pending",
            Self::Ok => "ok",
            Self::Partial => "partial",
            Self::CapacityOnly => "capacity_only",
            Self::NoKvMetric => "no_kv_metric",
            Self::Empty => "empty",
            Self::Disabled => "disabled",
            Self::Unauthorized => "unauthorized",
            Self::Unreachable => "unreachable",
            Self::Timeout => "timeout",
            Self::Malformed => "malformed",
            Self::Stale => "stale",
            Self::Sleeping => "sleeping",
        }
    }

    /// What to do about it, in one line; nothing where all is well.
    pub const fn hint(self) -> &'static str {
        match self {
            Self::Ok => "",
            Self::Pending => "it has not been asked yet",
            Self::Partial => {
                "it mixes its data ranks on one page: upgrade the engine (SGLang 0.4.10 or newer)"
            }
            Self::CapacityOnly => "no batch has run yet: send one request",
            Self::NoKvMetric => {
                "its page has no KV-cache metric: is statistics logging off (vLLM --disable-log-stats)?"
            }
            Self::Empty => "its metrics page is empty: it fills once the engine has started",
            Self::Disabled => {
                "its metrics are off: start the engine with --enable-metrics (llama.cpp: --metrics)"
            }
            Self::Unauthorized => "it wants an API key: give --worker-api-key",
            Self::Unreachable => {
                "it cannot be reached, or answers 5xx: is it running, and is the URL right?"
            }
            Self::Timeout => "it does not answer in time: is it hung? (--scrape-timeout-ms)",
            Self::Malformed => {
                "what it answers is no metrics page: is the URL right? (--worker-metrics)"
            }
            Self::Stale => "it answers, but what it says is old",
            Self::Sleeping => "the engine sleeps and holds no KV cache: wake it up",
        }
    }
}

/// The label value.
impl fmt::Display for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}
