//! The closed sets of words that some flags take.

use clap::ValueEnum;

/// A load-balancing policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "snake_case")]
pub(crate) enum Policy {
    /// Any worker, by chance.
    Random,
    /// One after the other.
    RoundRobin,
    /// The less loaded of two taken by chance.
    PowerOfTwo,
    /// The one that has seen the prompt's beginning, unless it is overloaded.
    CacheAware,
    /// By a hash of the request's routing key.
    ConsistentHashing,
    /// The one with the emptiest KV cache.
    LeastKv,
    /// SGLang's sticky sessions: refused.
    #[value(hide = true)]
    Manual,
    /// SGLang's prompt-length buckets: refused.
    #[value(hide = true)]
    Bucket,
}

/// Whether streams are asked for their usage when the client did not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum StreamUsage {
    /// Ask, and take the additional event out of the answer.
    Inject,
    /// Change nothing.
    Passthrough,
}

/// The least severe level that is logged.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogLevel {
    /// Everything.
    Trace,
    /// What a developer wants to see.
    Debug,
    /// What an operator wants to see.
    Info,
    /// What may need attention.
    Warn,
    /// What has gone wrong.
    Error,
}

/// The kind of service behind the router.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Backend {
    /// Engines on the operator's own machines; SGLang's default.
    Sglang,
    /// OpenAI's own service: refused.
    Openai,
}

/// Where the SGLang router keeps conversations. Only the two that keep nothing here are accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum HistoryBackend {
    /// Nowhere.
    None,
    /// In memory; SGLang's default.
    Memory,
    /// Refused.
    Oracle,
    /// Refused.
    Postgres,
    /// Refused.
    Redis,
}

/// The protocol by which prefill hands over to decode.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Engine {
    /// By what the workers answer.
    Auto,
    /// Bootstrap rooms, both legs at once.
    Sglang,
    /// NIXL, one leg after the other.
    Vllm,
}

/// What happens to a request whose client has left.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum OnDisconnect {
    /// Both legs are cancelled.
    Cancel,
    /// The answer is read to its end.
    Drain,
}
