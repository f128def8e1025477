//! `/get_load`, 0.4.7 to 0.5.20.

use serde::Deserialize;

use super::{RankLoad, loose::loose};
use crate::signal::Signal;

/// The answer.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum GetLoad {
    /// 0.5.3: every data rank.
    Ranks(Vec<Load>),
    /// Before: of data rank 0 alone the tokens that it holds and those that wait.
    First { load: f64 },
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Load {
    #[serde(deserialize_with = "loose")]
    dp_rank: Option<u32>,
    #[serde(deserialize_with = "loose")]
    num_reqs: Option<f64>,
    #[serde(deserialize_with = "loose")]
    num_waiting_reqs: Option<f64>,
    /// Those that wait are among them.
    #[serde(deserialize_with = "loose")]
    num_tokens: Option<f64>,
    /// 0.5.12; those that wait.
    #[serde(deserialize_with = "loose")]
    num_pending_tokens: Option<f64>,
}

// === impl GetLoad ===

impl GetLoad {
    /// Each data rank that it speaks of.
    pub(super) fn ranks(&self) -> Vec<RankLoad> {
        match self {
            Self::Ranks(loads) => loads.iter().map(Load::rank).collect(),
            Self::First { load } => {
                vec![RankLoad::new(None, [(Signal::Used, Some(*load))], *load > 0.0)]
            }
        }
    }
}

// === impl Load ===

impl Load {
    /// The number of those that wait is left out: the queues of the hand-over are in it.
    fn rank(&self) -> RankLoad {
        let less = |all: Option<f64>, part: Option<f64>| Some((all? - part?).max(0.0));
        let used =
            self.num_tokens.map(|all| (all - self.num_pending_tokens.unwrap_or(0.0)).max(0.0));
        let running = less(self.num_reqs, self.num_waiting_reqs);
        let values = [(Signal::Used, used), (Signal::Running, running)];
        let has_run = used.into_iter().chain(running).any(|value| value > 0.0);
        RankLoad::new(self.dp_rank, values, has_run)
    }
}
