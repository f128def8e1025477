//! What a simulated engine is like.

use std::{
    net::{Ipv4Addr, SocketAddr},
    time::Duration,
};

use plimsoll_wire::{Engine, Role};

/// The `engine_type` label of a role's metrics.
pub(crate) fn engine_type(role: Role) -> &'static str {
    match role {
        Role::Prefill => "prefill",
        Role::Decode => "decode",
        Role::Plain => "unified",
    }
}

/// A role as `disaggregation_mode` spells it in `/server_info` and `/v1/loads`.
pub(crate) fn disaggregation_mode(role: Role) -> &'static str {
    match role {
        Role::Prefill => "prefill",
        Role::Decode => "decode",
        Role::Plain => "null",
    }
}

/// Declares the fields of [`SimConfig`] with their defaults, and a setter of the same name each.
macro_rules! settings {
    ($($(#[$doc:meta])* $name:ident: $kind:ty = $default:expr;)*) => {
        /// Settings of a simulated engine: struct update or the setters, both over [`Default`].
        #[derive(Debug, Clone)]
        pub struct SimConfig {
            $($(#[$doc])* pub $name: $kind,)*
        }

        // === impl SimConfig ===

        impl SimConfig {
            $($(#[$doc])* #[must_use] pub fn $name(mut self, $name: $kind) -> Self {
                self.$name = $name;
                self
            })*
        }

        impl Default for SimConfig {
            fn default() -> Self {
                Self { $($name: $default,)* }
            }
        }
    };
}

settings! {
    /// The engine it resembles: SGLang 0.5.23 or vLLM 0.32.0. Default: SGLang.
    engine: Engine = Engine::Sglang;
    /// Prefill, decode or plain. Default: plain.
    role: Role = Role::Plain;
    /// Where the HTTP server listens; port 0 lets the system choose. Default: `127.0.0.1:0`.
    addr: SocketAddr = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    /// Prefill: port of the bootstrap server (vLLM: of the NIXL side channel), 0 lets the system
    /// choose. SGLang decode: the port meant by a request whose `bootstrap_port` is null, 0
    /// meaning SGLang's 8998. Default: 0.
    bootstrap_port: u16 = 0;
    /// Served model name. Requests for any other are answered by SGLang, and a 404 of vLLM.
    model: String = "sim-llama".to_owned();
    /// Engine version told by `/server_info` and `/v1/loads` or, by vLLM, `/version`. Default:
    /// empty, which means the recorded one.
    version: String = String::new();
    /// KV tokens of one data-parallel rank's pool. Default: 131072.
    capacity_tokens: u64 = 131_072;
    /// Longest prompt plus answer, in tokens. Default: 32768.
    context_len: u32 = 32_768;
    /// Requests one data-parallel rank holds KV for at once; others wait. Default: 2048.
    max_running_requests: usize = 2048;
    /// Tensor-parallel ranks: SGLang repeats per-rank constants on the metrics page. Default: 1.
    tp: u32 = 1;
    /// Data-parallel ranks, each with a pool of its own, used in turn. Default: 1.
    dp: u32 = 1;
    /// Whether there are metrics. Without them the page is a 404 of SGLang (`--enable-metrics`
    /// left out), and of vLLM one without its own families (`--disable-log-stats`).
    metrics: bool = true;
    /// Whether every tensor rank of SGLang exports the changing gauges
    /// (`--enable-metrics-for-all-schedulers`), not only rank 0. Default: false.
    metrics_all_ranks: bool = false;
    /// Whether usage tells cached prompt tokens (`--enable-cache-report`, of vLLM
    /// `--enable-prompt-tokens-details`). Default: false.
    cache_report: bool = false;
    /// Tokens generated when the request sets no limit; ends with reason `stop`. Default: 64.
    default_max_tokens: u32 = 64;
    /// Fixed part of the time a prompt takes. Default: zero.
    time_to_first_token: Duration = Duration::ZERO;
    /// Uncached prompt tokens computed per second, 0 meaning at once. Default: 0.
    prefill_rate: u64 = 0;
    /// Time between two generated tokens of one request. Zero sets no timer. Default: zero.
    token_interval: Duration = Duration::ZERO;
    /// How long one half of a pair waits for the other; SGLang's own default is 300 s.
    /// Default: 15 s.
    bootstrap_timeout: Duration = Duration::from_secs(15);
    /// vLLM prefill: how long the KV of a finished prompt is kept for decode. Default: 30 s.
    kv_lease: Duration = Duration::from_secs(30);
    /// How long an idle client connection is kept; uvicorn keeps it 5 s. `None`: for ever.
    keep_alive: Option<Duration> = Some(Duration::from_secs(5));
    /// How many inference requests [`SimEngine::requests`](crate::SimEngine::requests) remembers.
    /// Default: 4096.
    seen_limit: usize = 4096;
}

// === impl SimConfig ===

impl SimConfig {
    /// The version to tell.
    pub(crate) fn told_version(&self) -> &str {
        match (self.version.as_str(), self.engine) {
            ("", Engine::Sglang) => "0.5.23",
            ("", Engine::Vllm) => "0.32.0",
            (version, _) => version,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn setters_change_their_own_field() {
        let config = SimConfig::default().dp(2).model("m".to_owned());
        assert_eq!((config.dp, config.tp, config.model.as_str()), (2, 1, "m"));
    }
}
