use super::{Candidate, Hint, Policy};

/// Any, by chance.
#[derive(Debug)]
pub(super) struct Random;

// === impl Random ===

impl Policy for Random {
    fn pick(&self, candidates: &[Candidate<'_>], _: &Hint<'_>) -> Option<usize> {
        (!candidates.is_empty()).then(|| fastrand::usize(..candidates.len()))
    }
}

#[cfg(test)]
mod tests {
    use super::{Hint, Policy, Random};
    use crate::policies::testing::{candidates, urls};

    #[test]
    fn each_about_as_often() {
        fastrand::seed(7);
        let urls = urls(4);
        let candidates = candidates(&urls, &[0, 5, 9, 0]);
        let mut counts = [0; 4];
        for _ in 0..4_000 {
            counts[Random.pick(&candidates, &Hint::default()).unwrap()] += 1;
        }
        assert!(counts.iter().all(|count| (900..1_100).contains(count)), "{counts:?}");
        assert_eq!(Random.pick(&[], &Hint::default()), None);
    }
}
