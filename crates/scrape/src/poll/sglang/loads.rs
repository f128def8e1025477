//! `/v1/loads`, 0.5.8 and newer.

use serde::Deserialize;

use super::{RankLoad, loose::loose};
use crate::signal::Signal;

/// The answer.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Loads {
    #[serde(deserialize_with = "loose")]
    pub(super) version: Option<String>,
    loads: Option<Vec<Load>>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Load {
    #[serde(deserialize_with = "loose")]
    dp_rank: Option<u32>,
    #[serde(deserialize_with = "loose")]
    num_running_reqs: Option<f64>,
    #[serde(deserialize_with = "loose")]
    num_used_tokens: Option<f64>,
    #[serde(deserialize_with = "loose")]
    max_total_num_tokens: Option<f64>,
    #[serde(deserialize_with = "loose")]
    token_usage: Option<f64>,
    #[serde(deserialize_with = "loose")]
    gen_throughput: Option<f64>,
    #[serde(deserialize_with = "loose")]
    cache_hit_rate: Option<f64>,
    /// 0.5.23; counted since the start, as are the moments of decode batches.
    #[serde(deserialize_with = "loose")]
    total_prefill_uncached_tokens: Option<f64>,
    #[serde(deserialize_with = "loose")]
    decode_moments: Option<Vec<f64>>,
    #[serde(deserialize_with = "loose")]
    memory: Option<Memory>,
    #[serde(deserialize_with = "loose")]
    disaggregation: Option<Disaggregation>,
    #[serde(deserialize_with = "loose")]
    queues: Option<Queues>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Memory {
    #[serde(deserialize_with = "loose")]
    token_capacity: Option<f64>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Disaggregation {
    /// 0.5.12; before, `prefill_prealloc_queue_reqs`.
    #[serde(deserialize_with = "loose", alias = "prefill_prealloc_queue_reqs")]
    prefill_bootstrap_queue_reqs: Option<f64>,
    #[serde(deserialize_with = "loose")]
    prefill_inflight_queue_reqs: Option<f64>,
    #[serde(deserialize_with = "loose")]
    decode_prealloc_queue_reqs: Option<f64>,
    #[serde(deserialize_with = "loose")]
    decode_transfer_queue_reqs: Option<f64>,
}

/// `num_waiting_reqs` is another number: it has the queues of the hand-over in it.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Queues {
    #[serde(deserialize_with = "loose")]
    waiting: Option<f64>,
}

// === impl Loads ===

impl Loads {
    /// Each data rank; `None` if it is some other document.
    pub(super) fn ranks(&self) -> Option<Vec<RankLoad>> {
        Some(self.loads.as_ref()?.iter().map(Load::rank).collect())
    }
}

// === impl Load ===

impl Load {
    fn rank(&self) -> RankLoad {
        let pd = self.disaggregation.as_ref();
        let memory = self.memory.as_ref();
        let values = [
            (
                Signal::Capacity,
                self.max_total_num_tokens.or_else(|| memory.and_then(|it| it.token_capacity)),
            ),
            (Signal::Used, self.num_used_tokens),
            (Signal::HeadlineRatio, self.token_usage),
            (Signal::Running, self.num_running_reqs),
            (Signal::GenerationRate, self.gen_throughput),
            (Signal::Waiting, self.queues.as_ref().and_then(|it| it.waiting)),
            (Signal::PrefillBootstrap, pd.and_then(|it| it.prefill_bootstrap_queue_reqs)),
            (Signal::PrefillInflight, pd.and_then(|it| it.prefill_inflight_queue_reqs)),
            (Signal::DecodePrealloc, pd.and_then(|it| it.decode_prealloc_queue_reqs)),
            (Signal::DecodeTransfer, pd.and_then(|it| it.decode_transfer_queue_reqs)),
        ];
        RankLoad::new(self.dp_rank, values, self.has_run())
    }

    /// A batch has left its mark.
    fn has_run(&self) -> bool {
        let marks = [
            self.num_running_reqs,
            self.num_used_tokens,
            self.gen_throughput,
            self.cache_hit_rate,
            self.total_prefill_uncached_tokens,
        ];
        self.decode_moments.is_some() || marks.into_iter().flatten().any(|mark| mark > 0.0)
    }
}
