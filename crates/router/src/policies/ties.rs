//! What to do where several are as good.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::Candidate;

/// A position that all threads share: who is as good as others gets its turn.
#[derive(Debug, Default)]
pub(super) struct Rotation(AtomicUsize);

// === impl Rotation ===

impl Rotation {
    /// The next position among `count`; `None` if there is none.
    pub(super) fn next(&self, count: usize) -> Option<usize> {
        self.0.fetch_add(1, Ordering::Relaxed).checked_rem(count)
    }

    /// The next one of those.
    pub(super) fn among(&self, mut ties: impl Iterator<Item = usize> + Clone) -> Option<usize> {
        match ties.clone().nth(1) {
            None => ties.next(),
            Some(_) => ties.nth(self.next(ties.clone().count())?),
        }
    }

    /// The next one of those that have the fewest in flight.
    pub(super) fn fewest_in_flight(&self, candidates: &[Candidate<'_>]) -> Option<usize> {
        self.fewest_in_flight_of(candidates, |_| true)
    }

    /// The next one of those that have the fewest in flight of the ones that count.
    pub(super) fn fewest_in_flight_of(
        &self,
        candidates: &[Candidate<'_>],
        counts: impl Fn(&Candidate<'_>) -> bool + Clone,
    ) -> Option<usize> {
        let counted = candidates.iter().enumerate().filter(|(_, candidate)| counts(candidate));
        let fewest = counted.clone().map(|(_, candidate)| candidate.in_flight).min()?;
        let ties = counted.filter(|(_, candidate)| candidate.in_flight == fewest);
        self.among(ties.map(|(index, _)| index))
    }
}

#[cfg(test)]
mod tests {
    use super::Rotation;
    use crate::policies::testing::{candidates, urls};

    #[test]
    fn who_is_as_good_gets_its_turn() {
        let (rotation, urls) = (Rotation::default(), urls(5));
        let candidates = candidates(&urls, &[2, 1, 3, 1, 1]);
        let picks: Vec<_> = (0..6).map(|_| rotation.fewest_in_flight(&candidates)).collect();
        assert_eq!(picks, [1, 3, 4, 1, 3, 4].map(Some));
        assert_eq!(rotation.fewest_in_flight(&[]), None);
        assert_eq!(rotation.fewest_in_flight_of(&candidates, |one| one.in_flight > 1), Some(0));
    }

    #[test]
    fn one_that_is_alone_takes_no_turn() {
        let rotation = Rotation::default();
        assert_eq!(rotation.among([7].into_iter()), Some(7));
        assert_eq!(rotation.among([1, 2].into_iter()), Some(1));
        assert_eq!(rotation.among([7].into_iter()), Some(7));
        assert_eq!(rotation.among([1, 2].into_iter()), Some(2));
    }
}
