//! Token usage as the OpenAI routes tell it.

use serde::Serialize;

use crate::{sequence::Sequence, text::EOS};

/// Tokens of one or more sequences.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Counts {
    pub(super) prompt: u64,
    pub(super) completion: u64,
    pub(super) cached: u64,
}

/// Usage of one or more sequences.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct Usage {
    prompt_tokens: u64,
    total_tokens: u64,
    completion_tokens: u64,
    prompt_tokens_details: Option<PromptDetails>,
    reasoning_tokens: u64,
    completion_tokens_details: Option<()>,
}

/// Usage in a stream of `/v1/completions`, which leaves out what is null.
#[derive(Debug, Clone, Copy, Serialize)]
pub(super) struct ShortUsage {
    prompt_tokens: u64,
    total_tokens: u64,
    completion_tokens: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    prompt_tokens_details: Option<PromptDetails>,
    reasoning_tokens: u64,
}

#[derive(Debug, Clone, Copy, Serialize)]
struct PromptDetails {
    cached_tokens: u64,
}

// === impl Counts ===

impl Counts {
    /// A prompt counts once, whatever its number of samples.
    pub(super) fn of<'a>(sequences: impl IntoIterator<Item = &'a Sequence>) -> Self {
        let mut counts = Self::default();
        for sequence in sequences {
            counts.completion += sequence.output.len() as u64;
            if sequence.task.sample == 0 {
                counts.prompt += sequence.task.prompt.len() as u64;
                counts.cached += sequence.cached;
            }
        }
        counts
    }

    /// One sequence so far, its prompt counted whichever sample it is.
    pub(super) fn so_far(sequence: &Sequence) -> Self {
        Self { prompt: sequence.task.prompt.len() as u64, ..Self::of([sequence]) }
    }
}

// === impl Usage ===

impl Usage {
    /// Usage of sequences together; cached tokens are told if the engine reports them.
    pub(super) fn of<'a>(
        sequences: impl IntoIterator<Item = &'a Sequence>,
        cache_report: bool,
    ) -> Self {
        Self::new(Counts::of(sequences), cache_report)
    }

    /// Usage of one sequence so far.
    pub(super) fn so_far(sequence: &Sequence, cache_report: bool) -> Self {
        Self::new(Counts::so_far(sequence), cache_report)
    }

    fn new(counts: Counts, cache_report: bool) -> Self {
        let Counts { prompt, completion, cached: cached_tokens } = counts;
        Self {
            prompt_tokens: prompt,
            total_tokens: prompt + completion,
            completion_tokens: completion,
            prompt_tokens_details: cache_report.then_some(PromptDetails { cached_tokens }),
            reasoning_tokens: 0,
            completion_tokens_details: None,
        }
    }

    /// The same without nulls.
    pub(super) fn short(self) -> ShortUsage {
        ShortUsage {
            prompt_tokens: self.prompt_tokens,
            total_tokens: self.total_tokens,
            completion_tokens: self.completion_tokens,
            prompt_tokens_details: self.prompt_tokens_details,
            reasoning_tokens: self.reasoning_tokens,
        }
    }
}

/// Why an answer ended.
#[derive(Debug, Clone, Copy)]
pub(super) struct Finish {
    pub(super) finish_reason: Option<&'static str>,
    pub(super) matched_stop: Option<u32>,
}

// === impl Finish ===

impl Finish {
    /// Not yet.
    pub(super) const NONE: Self = Self { finish_reason: None, matched_stop: None };

    /// By itself, or at the client's limit.
    pub(super) fn of(sequence: &Sequence) -> Self {
        if sequence.task.ends_itself {
            Self { finish_reason: Some("stop"), matched_stop: Some(EOS) }
        } else {
            Self { finish_reason: Some("length"), matched_stop: None }
        }
    }
}

/// `metadata` of a whole answer.
#[derive(Debug, Serialize)]
pub(super) struct Metadata {
    weight_version: &'static str,
    weight_versions: [WeightVersion; 1],
}

/// Which tokens one version of the weights made.
#[derive(Debug, Serialize)]
pub(super) struct WeightVersion {
    version: &'static str,
    start: u64,
    end: u64,
}

// === impl WeightVersion ===

impl WeightVersion {
    /// All tokens of a sequence, by the only version there is.
    pub(super) fn all(sequence: &Sequence) -> [Self; 1] {
        [Self { version: "default", start: 0, end: sequence.output.len() as u64 }]
    }
}

// === impl Metadata ===

impl Metadata {
    /// Metadata of an answer, taken from its first sequence.
    pub(super) fn of(sequence: &Sequence) -> Self {
        Self { weight_version: "default", weight_versions: WeightVersion::all(sequence) }
    }
}
