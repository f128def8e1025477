//! What the metrics page says, added up.

use std::collections::BTreeMap;

use plimsoll_scrape::exposition::{Sample, lines};

use super::reply::Tokens;

/// Sums over all series of a family.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct PageSums {
    /// Finished requests by outcome.
    pub(super) outcomes: BTreeMap<String, u64>,
    /// Requests whose token counts are exact.
    pub(super) exact: u64,
    pub(super) tokens: Tokens,
    /// Times to the first token: their number, and their sum in seconds.
    pub(super) first_tokens: u64,
    pub(super) first_token_seconds: f64,
}

// === impl PageSums ===

impl PageSums {
    /// Adds up a page in the Prometheus text format; what is of no interest is passed over.
    pub(super) fn read(page: &str) -> Self {
        let mut sums = Self::default();
        lines(page).flatten().for_each(|sample| sums.add(sample));
        sums
    }

    /// Requests that ended well.
    pub(super) fn complete(&self) -> u64 {
        self.outcomes.get("complete").copied().unwrap_or_default()
    }

    /// Mean time to the first token, in seconds.
    pub(super) fn mean_first_token(&self) -> Option<f64> {
        (self.first_tokens > 0).then(|| self.first_token_seconds / self.first_tokens as f64)
    }

    fn add(&mut self, Sample { name, labels, value }: Sample<'_>) {
        let count = value as u64;
        match name {
            "plimsoll_requests_total" => {
                let outcome = labels.get("outcome").unwrap_or("?".into()).into_owned();
                *self.outcomes.entry(outcome).or_default() += count;
            }
            "plimsoll_usage_total" if labels.get("completeness").as_deref() == Some("exact") => {
                self.exact += count;
            }
            "plimsoll_prompt_tokens_total" => self.tokens.prompt += count,
            "plimsoll_cached_prompt_tokens_total" => self.tokens.cached += count,
            "plimsoll_completion_tokens_total" => self.tokens.completion += count,
            "plimsoll_time_to_first_token_seconds_count" => self.first_tokens += count,
            "plimsoll_time_to_first_token_seconds_sum" => self.first_token_seconds += value,
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn series_are_added_up() {
        let sums = PageSums::read(
            "# TYPE plimsoll_requests_total counter\n\
             plimsoll_requests_total{endpoint=\"chat\",model=\"a b}\",outcome=\"complete\"} 3\n\
             plimsoll_requests_total{endpoint=\"chat\",model=\"c\",outcome=\"complete\"} 2\n\
             plimsoll_requests_total{endpoint=\"chat\",model=\"c\",outcome=\"truncated\"} 1\n\
             plimsoll_usage_total{completeness=\"exact\"} 5\n\
             plimsoll_usage_total{completeness=\"partial\"} 1\n\
             plimsoll_prompt_tokens_total{model=\"c\"} 70\n\
             plimsoll_prompt_tokens_total 5\n\
             plimsoll_cached_prompt_tokens_total{model=\"c\"} 32\n\
             plimsoll_completion_tokens_total{model=\"c\"} 9\n\
             plimsoll_time_to_first_token_seconds_bucket{le=\"+Inf\"} 2\n\
             plimsoll_time_to_first_token_seconds_sum{model=\"c\"} 0.5\n\
             plimsoll_time_to_first_token_seconds_count{model=\"c\"} 2\n",
        );
        assert_eq!((sums.complete(), sums.outcomes["truncated"], sums.exact), (5, 1, 5));
        assert_eq!(sums.tokens, Tokens { prompt: 75, cached: 32, completion: 9 });
        assert_eq!(sums.mean_first_token(), Some(0.25));
        assert_eq!(PageSums::read("").mean_first_token(), None);
    }
}
