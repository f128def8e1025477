//! Token usage as vLLM tells it: in three shapes.

use serde::Serialize;

use super::{MaybeNull, NULL, Null};
use crate::{
    api::{rooms::Meeting, run::Answer, usage::Counts},
    rank::BLOCK,
    sequence::Sequence,
};

/// Usage of one or more sequences.
#[derive(Debug, Serialize)]
pub(super) struct Usage {
    prompt_tokens: u64,
    total_tokens: u64,
    completion_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_tokens_details: Option<Option<Details>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    completion_tokens_details: MaybeNull,
}

#[derive(Debug, Serialize)]
struct Details {
    cached_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    created_cache_tokens: Option<Option<u64>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    multimodal_tokens: Option<Null>,
}

// === impl Usage ===

impl Usage {
    /// Of a whole answer. Text completions know nothing of created cache.
    pub(super) fn whole(answer: &Answer, sequences: &[Sequence], created: bool) -> Self {
        let counts = Counts::of(sequences);
        let details = Details {
            cached_tokens: counts.cached,
            created_cache_tokens: Some(created.then(|| created_tokens(sequences))),
            multimodal_tokens: NULL,
        };
        let details = answer.engine.config.cache_report.then_some(details);
        Self {
            prompt_tokens_details: Some(details),
            completion_tokens_details: NULL,
            ..Self::plain(counts)
        }
    }

    /// At the end of a stream.
    pub(super) fn last(answer: &Answer, sequences: &[Sequence], created: bool) -> Self {
        let counts = Counts::of(sequences);
        let details = Details {
            cached_tokens: counts.cached,
            created_cache_tokens: created.then(|| Some(created_tokens(sequences))),
            multimodal_tokens: None,
        };
        let details = answer.engine.config.cache_report.then_some(Some(details));
        Self { prompt_tokens_details: details, ..Self::plain(counts) }
    }

    /// Of one sequence amid a stream.
    pub(super) fn so_far(sequence: &Sequence) -> Self {
        Self { completion_tokens_details: NULL, ..Self::plain(Counts::so_far(sequence)) }
    }

    fn plain(counts: Counts) -> Self {
        Self {
            prompt_tokens: counts.prompt,
            total_tokens: counts.prompt + counts.completion,
            completion_tokens: counts.completion,
            prompt_tokens_details: None,
            completion_tokens_details: None,
        }
    }
}

/// Prompt tokens newly put into the prefix cache: whole blocks that were computed here.
fn created_tokens(sequences: &[Sequence]) -> u64 {
    let computed = sequences.iter().filter(|sequence| {
        sequence.task.sample == 0 && !matches!(sequence.task.meeting, Meeting::Fetch(_))
    });
    computed
        .map(|sequence| sequence.task.prompt.len() as u64 / BLOCK * BLOCK - sequence.cached)
        .sum()
}
