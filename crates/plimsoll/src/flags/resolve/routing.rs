//! Where requests go, how many, and what happens when they fail.

use std::time::Duration;

use http::HeaderValue;
use plimsoll_router::{
    AdmissionConfig, AffinityConfig, BreakerConfig, InFlightConfig, PolicyConfig, PolicyKind,
    RetryConfig,
};
use plimsoll_wire::Engine;

use super::checks::fault;
use crate::flags::{
    UsageError,
    error::Problem,
    place::Given,
    table::{self, Failures, Load, Policies, Policy},
};

pub(super) fn policies(flags: &Policies) -> PolicyConfig {
    let default = PolicyConfig::default();
    let kind = |own: Option<Policy>, default| {
        own.or(flags.policy).and_then(Policy::kind).unwrap_or(default)
    };
    PolicyConfig {
        prefill: kind(flags.prefill_policy, default.prefill),
        decode: kind(flags.decode_policy, default.decode),
        plain: kind(None, default.plain),
        affinity: AffinityConfig {
            cache_threshold: flags.cache_threshold,
            balance_abs_threshold: flags.balance_abs_threshold,
            balance_rel_threshold: flags.balance_rel_threshold,
            max_tree_size: flags.max_tree_size,
            eviction_interval: Duration::from_secs(flags.eviction_interval_secs),
        },
    }
}

pub(super) fn admission(flags: &Load) -> AdmissionConfig {
    let most = usize::try_from(flags.max_concurrent_requests).ok();
    AdmissionConfig {
        // The SGLang router takes 0 for no limit, too.
        max_requests: most.filter(|&most| most > 0),
        rate: flags.rate_limit_tokens_per_second,
        queue_size: flags.queue_size,
        queue_timeout: Duration::from_secs(flags.queue_timeout_secs),
        kv_threshold: flags.kv_admission_threshold,
    }
}

pub(super) fn max_in_flight(flags: &Load) -> InFlightConfig {
    let every = flags.worker_max_in_flight;
    InFlightConfig {
        prefill: flags.prefill_max_in_flight.or(every),
        decode: flags.decode_max_in_flight.or(every),
        plain: every,
    }
}

pub(super) fn retry(flags: &Failures) -> RetryConfig {
    RetryConfig {
        max_retries: if flags.disable_retries { 0 } else { flags.retry_max_retries },
        initial_backoff: Duration::from_millis(flags.retry_initial_backoff_ms),
        max_backoff: Duration::from_millis(flags.retry_max_backoff_ms),
        multiplier: flags.retry_backoff_multiplier,
        jitter: flags.retry_jitter_factor,
    }
}

pub(super) fn breaker(flags: &Failures) -> BreakerConfig {
    BreakerConfig {
        failure_threshold: flags.cb_failure_threshold,
        success_threshold: flags.cb_success_threshold,
        timeout: Duration::from_secs(flags.cb_timeout_duration_secs),
        window: Duration::from_secs(flags.cb_window_duration_secs),
        disabled: flags.disable_circuit_breaker,
    }
}

pub(super) fn engine(engine: table::Engine) -> Option<Engine> {
    match engine {
        table::Engine::Auto => None,
        table::Engine::Sglang => Some(Engine::Sglang),
        table::Engine::Vllm => Some(Engine::Vllm),
    }
}

/// The origins whose pages may call the router.
pub(super) fn origins(texts: &[String], given: &Given) -> Result<Vec<HeaderValue>, UsageError> {
    let origin = |text: &String| {
        let is_origin = text == "*"
            || text.split_once("://").is_some_and(|(_, host)| {
                !host.is_empty() && !host.contains(['/', '*', '?', '#', '@'])
            });
        let value = HeaderValue::from_str(text).ok().filter(|_| is_origin);
        value.ok_or_else(|| fault("cors-allowed-origins", given, Problem::Origin(text.clone())))
    };
    texts.iter().map(origin).collect()
}

// === impl Policy ===

impl Policy {
    /// The router's own; `None` for those that are turned away.
    fn kind(self) -> Option<PolicyKind> {
        Some(match self {
            Self::Random => PolicyKind::Random,
            Self::RoundRobin => PolicyKind::RoundRobin,
            Self::PowerOfTwo => PolicyKind::PowerOfTwo,
            Self::CacheAware => PolicyKind::CacheAware,
            Self::ConsistentHashing => PolicyKind::ConsistentHashing,
            Self::LeastKv => PolicyKind::LeastKv,
            Self::Manual | Self::Bucket => return None,
        })
    }
}
