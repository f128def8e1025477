use super::{Candidate, Hint, Policy, ties::Rotation};

/// Of two by chance, the one with fewer requests in flight.
#[derive(Debug, Default)]
pub(super) struct PowerOfTwo(Rotation);

// === impl PowerOfTwo ===

impl Policy for PowerOfTwo {
    fn pick(&self, candidates: &[Candidate<'_>], _: &Hint<'_>) -> Option<usize> {
        let count = candidates.len();
        if count < 2 {
            return count.checked_sub(1);
        }
        let (one, mut other) = (fastrand::usize(..count), fastrand::usize(..count - 1));
        if other >= one {
            other += 1;
        }
        let fewest = candidates[one].in_flight.min(candidates[other].in_flight);
        let two = [one.min(other), one.max(other)].into_iter();
        self.0.among(two.filter(|&index| candidates[index].in_flight == fewest))
    }
}

#[cfg(test)]
mod tests {
    use super::{Hint, Policy, PowerOfTwo};
    use crate::policies::testing::{candidates, urls};

    #[test]
    fn fewer_in_flight_of_any_two() {
        fastrand::seed(7);
        let (policy, urls) = (PowerOfTwo::default(), urls(4));
        let candidates = candidates(&urls, &[3, 2, 1, 0]);
        let mut counts = [0; 4];
        for _ in 0..6_000 {
            counts[policy.pick(&candidates, &Hint::default()).unwrap()] += 1;
        }
        // Of six pairs, the first wins none, the second one, and so on.
        for (index, count) in counts.into_iter().enumerate() {
            let expected = 1_000 * index;
            assert!(count + 150 > expected && count < expected + 150, "{counts:?}");
        }
        assert_eq!(counts[0], 0);
    }

    #[test]
    fn ties_rotate() {
        let (policy, urls) = (PowerOfTwo::default(), urls(2));
        let candidates = candidates(&urls, &[1, 1]);
        let picks = (0..4).map(|_| policy.pick(&candidates, &Hint::default()).unwrap());
        assert_eq!(picks.collect::<Vec<_>>(), [0, 1, 0, 1]);
        assert_eq!(policy.pick(&candidates[..1], &Hint::default()), Some(0));
        assert_eq!(policy.pick(&[], &Hint::default()), None);
    }
}
