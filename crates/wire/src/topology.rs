//! Who serves: roles, engines and the workers as configured.

use std::{fmt, str::FromStr, sync::Arc};

/// Where an SGLang decode worker looks for its prefill worker if a request names no port: the usual
/// `--disaggregation-bootstrap-port`.
pub const DEFAULT_BOOTSTRAP_PORT: u16 = 8998;

/// What a worker does for a request. It comes from the router's configuration, never from a label
/// of the engine: SGLang up to 0.5.8 calls every role `unified`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Role {
    /// Reads the prompt and hands its KV cache over.
    Prefill,
    /// Takes the KV cache over and writes the answer.
    Decode,
    /// Does both.
    Plain,
}

/// The software that a worker runs, as far as the hand-over between the legs depends on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Engine {
    /// SGLang: both legs at once, met over a bootstrap server.
    Sglang,
    /// vLLM: one leg after the other, KV transfer parameters handed on.
    Vllm,
}

/// One worker as configured.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Backend {
    /// Base URL without a trailing slash, `http://host:port`; also the `worker` label.
    pub url: Arc<str>,
    /// What it does.
    pub role: Role,
    /// The port of a prefill worker's bootstrap server, where it was given.
    pub bootstrap_port: Option<u16>,
}

/// A word that is none of the known ones.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("'{given}' is not one of {known}")]
pub struct UnknownWord {
    given: String,
    known: &'static str,
}

// === impl Role ===

impl Role {
    /// The label value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Prefill => "prefill",
            Self::Decode => "decode",
            Self::Plain => "plain",
        }
    }
}

impl fmt::Display for Role {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Role {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "prefill" => Ok(Self::Prefill),
            "decode" => Ok(Self::Decode),
            "plain" => Ok(Self::Plain),
            _ => Err(UnknownWord { given: word.to_owned(), known: "prefill, decode, plain" }),
        }
    }
}

// === impl Engine ===

impl Engine {
    /// The label value.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Sglang => "sglang",
            Self::Vllm => "vllm",
        }
    }
}

impl fmt::Display for Engine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl FromStr for Engine {
    type Err = UnknownWord;

    fn from_str(word: &str) -> Result<Self, Self::Err> {
        match word {
            "sglang" => Ok(Self::Sglang),
            "vllm" => Ok(Self::Vllm),
            _ => Err(UnknownWord { given: word.to_owned(), known: "sglang, vllm" }),
        }
    }
}
