//! The choices of one request: its prompts, and of each so many samples.

use std::collections::BTreeMap;

use crate::Usage;

/// What is kept of each choice, by its index. More than [`MAX`](Self::MAX) are not kept: no engine
/// gives as many.
#[derive(Debug)]
pub(super) struct Choices<T>(BTreeMap<u64, T>);

// === impl Choices ===

impl<T> Choices<T> {
    const MAX: usize = 1 << 16;

    /// The place of a choice, made if it is new.
    pub(super) fn entry(&mut self, index: u64) -> Option<&mut T>
    where
        T: Default,
    {
        if self.0.len() >= Self::MAX && !self.0.contains_key(&index) {
            return None;
        }
        Some(self.0.entry(index).or_default())
    }

    /// In the order of their indices.
    pub(super) fn values(&self) -> impl Iterator<Item = &T> {
        self.0.values()
    }

    pub(super) fn len(&self) -> usize {
        self.0.len()
    }

    /// The counts of all choices together. What was written is added up; the samples of a prompt
    /// share it, so of the prompt, and of what was cached, each prompt's first sample speaks for
    /// all.
    pub(super) fn sum(&self, samples: u64, usage: impl Fn(&T) -> Usage) -> Option<Usage> {
        let mut counted = None;
        let parts = self.0.iter().map(|(index, choice)| {
            let prompt = index / samples.max(1);
            match counted.replace(prompt) == Some(prompt) {
                true => Usage { prompt: Some(0), cached: Some(0), ..usage(choice) },
                false => usage(choice),
            }
        });
        parts.reduce(Usage::plus)
    }
}

impl<T> Default for Choices<T> {
    fn default() -> Self {
        Self(BTreeMap::new())
    }
}

#[cfg(test)]
mod tests {
    use super::Choices;
    use crate::Usage;

    fn of(usages: &[(u64, Usage)]) -> Choices<Usage> {
        let mut choices = Choices::default();
        for &(index, usage) in usages {
            *choices.entry(index).unwrap() = usage;
        }
        choices
    }

    #[test]
    fn a_prompt_counts_once_however_many_samples_it_has() {
        let usage = |prompt, completion, cached| Usage {
            prompt: Some(prompt),
            completion: Some(completion),
            cached: Some(cached),
            reasoning: None,
        };
        let choices = of(&[
            (0, usage(4, 1, 2)),
            (1, usage(4, 2, 4)),
            (2, usage(5, 3, 0)),
            (3, usage(5, 4, 5)),
        ]);
        assert_eq!(choices.sum(2, |usage| *usage), Some(usage(9, 10, 2)));
        assert_eq!(choices.sum(1, |usage| *usage), Some(usage(18, 10, 11)));
        // Of a batch that broke off, the first sample may be the one that is missing.
        let choices = of(&[(1, usage(4, 2, 4)), (2, usage(5, 3, 0))]);
        assert_eq!(choices.sum(2, |usage| *usage), Some(usage(9, 5, 4)));
        assert_eq!(of(&[]).sum(1, |usage| *usage), None);
    }

    #[test]
    fn choices_are_bounded() {
        let mut choices = Choices::<u64>::default();
        for index in 0..=Choices::<u64>::MAX as u64 {
            if let Some(choice) = choices.entry(index) {
                *choice = 1;
            }
        }
        assert_eq!(choices.len(), Choices::<u64>::MAX);
        assert!(choices.entry(0).is_some());
    }
}
