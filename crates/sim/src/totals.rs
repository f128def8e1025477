//! What an engine has done.

use std::sync::Arc;

use tokio::sync::watch;

/// Counts of inference requests since the start. One HTTP request counts once, however many
/// prompts or choices it holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Totals {
    /// Requests received.
    pub requests: u64,
    /// Requests now in work.
    pub open: u64,
    /// Requests answered in full.
    pub finished: u64,
    /// Requests answered with an error.
    pub failed: u64,
    /// Requests whose client left, or whose answer a fault cut off.
    pub aborted: u64,
    /// Prompt tokens of finished prompts.
    pub prompt_tokens: u64,
    /// Generated tokens of finished prompts.
    pub generation_tokens: u64,
    /// vLLM prefill: finished prompts whose KV is now kept for decode.
    pub kept: u64,
    /// vLLM prefill: kept prompts that decode has fetched.
    pub fetched: u64,
    /// vLLM prefill: kept prompts that nobody fetched in time.
    pub expired: u64,
    /// vLLM decode: 1 after a request has killed the engine.
    pub killed: u64,
}

/// A request in work. Dropped without a verdict, it counts as aborted.
#[derive(Debug)]
pub(crate) struct OpenRequest {
    totals: Arc<watch::Sender<Totals>>,
    verdict: Verdict,
}

#[derive(Debug)]
enum Verdict {
    Aborted,
    Finished,
    Failed,
}

// === impl OpenRequest ===

impl OpenRequest {
    pub(crate) fn new(totals: Arc<watch::Sender<Totals>>) -> Self {
        totals.send_modify(|totals| {
            totals.requests += 1;
            totals.open += 1;
        });
        Self { totals, verdict: Verdict::Aborted }
    }

    pub(crate) fn finished(mut self) {
        self.verdict = Verdict::Finished;
    }

    pub(crate) fn failed(mut self) {
        self.verdict = Verdict::Failed;
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.totals.send_modify(|totals| {
            totals.open -= 1;
            match self.verdict {
                Verdict::Aborted => totals.aborted += 1,
                Verdict::Finished => totals.finished += 1,
                Verdict::Failed => totals.failed += 1,
            }
        });
    }
}
