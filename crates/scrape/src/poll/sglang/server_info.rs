//! `/get_server_info` (0.4.1 and newer) and `/server_info` (0.5.6 and newer).

use plimsoll_wire::{Backend, Role};
use serde::Deserialize;

use super::loose::loose;
use crate::{Facts, Mismatch};

/// What is taken from the answer. It has the engine's own API key in it, among all its arguments.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
pub(crate) struct ServerInfo {
    /// Of SGLang.
    #[serde(deserialize_with = "loose")]
    pub(crate) version: Option<String>,
    /// Tensor ranks.
    #[serde(deserialize_with = "loose")]
    pub(crate) tp_size: Option<u32>,
    /// Data ranks.
    #[serde(deserialize_with = "loose")]
    pub(crate) dp_size: Option<u32>,
    /// The role: `prefill`, `decode` or, as a text, `null`.
    #[serde(deserialize_with = "loose")]
    disaggregation_mode: Option<String>,
    #[serde(deserialize_with = "loose")]
    disaggregation_bootstrap_port: Option<u16>,
    /// What the pool of one data rank holds.
    #[serde(deserialize_with = "loose")]
    max_total_num_tokens: Option<f64>,
    /// One for each data rank, 0.4.4.
    #[serde(deserialize_with = "loose")]
    internal_states: Option<Vec<InternalState>>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct InternalState {
    #[serde(deserialize_with = "loose")]
    memory_usage: Option<MemoryUsage>,
}

#[derive(Clone, Debug, Default, Deserialize)]
#[serde(default)]
struct MemoryUsage {
    /// 0.4.9.
    #[serde(deserialize_with = "loose")]
    token_capacity: Option<f64>,
}

/// The role that SGLang's `disaggregation_mode` tells, as `/get_server_info` has it: `prefill`,
/// `decode`, or, as a text, `null` of one that does both. `None` of any other.
pub fn role_of_mode(mode: &str) -> Option<Role> {
    match mode {
        "prefill" => Some(Role::Prefill),
        "decode" => Some(Role::Decode),
        "null" => Some(Role::Plain),
        _ => None,
    }
}

// === impl ServerInfo ===

impl ServerInfo {
    /// Reads an answer; `None` if it is some other server's.
    pub(crate) fn read(body: &[u8]) -> Option<Self> {
        let info: Self = serde_json::from_slice(body).ok()?;
        (info.tp_size.is_some() || info.max_total_num_tokens.is_some()).then_some(info)
    }

    /// Where it says of itself what the configuration says otherwise.
    pub(crate) fn mismatch(&self, given: &Backend) -> Option<Mismatch> {
        let role = self.disaggregation_mode.as_deref().and_then(role_of_mode);
        Mismatch::of(given, role, self.disaggregation_bootstrap_port)
    }

    /// What it says of the data ranks.
    pub(crate) fn facts(&self) -> Facts {
        let first = self.internal_states.as_ref().and_then(|states| states.first());
        let of_first = || first?.memory_usage.as_ref()?.token_capacity;
        let capacity = self.max_total_num_tokens.or_else(of_first);
        Facts {
            data_ranks: self.dp_size,
            rank_capacity: capacity.filter(|&tokens| tokens.is_finite() && tokens > 0.0),
        }
    }
}
