use super::{Candidate, Hint, Policy, ties::Rotation};

/// Each in turn.
#[derive(Debug, Default)]
pub(super) struct RoundRobin(Rotation);

// === impl RoundRobin ===

impl Policy for RoundRobin {
    fn pick(&self, candidates: &[Candidate<'_>], _: &Hint<'_>) -> Option<usize> {
        self.0.next(candidates.len())
    }
}

#[cfg(test)]
mod tests {
    use super::{Hint, Policy, RoundRobin};
    use crate::policies::testing::{candidates, urls};

    #[test]
    fn each_in_turn_for_all_threads_together() {
        let (policy, urls) = (RoundRobin::default(), urls(3));
        let picks = |count| {
            let candidates = candidates(&urls, &[9, 0, 4]);
            let picks = (0..count).map(|_| policy.pick(&candidates, &Hint::default()).unwrap());
            picks.collect::<Vec<_>>()
        };
        assert_eq!(picks(4), [0, 1, 2, 0]);
        let mut counts = [1, 0, 0];
        let elsewhere: Vec<_> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..2).map(|_| scope.spawn(|| picks(1_000))).collect();
            threads.into_iter().flat_map(|thread| thread.join().unwrap()).collect()
        });
        elsewhere.into_iter().for_each(|pick| counts[pick] += 1);
        assert_eq!(counts, [667, 667, 667]);
        assert_eq!(policy.pick(&[], &Hint::default()), None);
    }
}
