use xxhash_rust::xxh3::{xxh3_64, xxh3_64_with_seed};

use super::{Candidate, Hint, Policy, ties::Rotation};

/// The same worker for the same session, in every process that has the same workers: the one whose
/// hash with the session is the greatest. When one comes or goes, only the sessions that it gets or
/// had move. Without a session: each in turn.
#[derive(Debug, Default)]
pub(super) struct ConsistentHashing(Rotation);

// === impl ConsistentHashing ===

impl Policy for ConsistentHashing {
    fn pick(&self, candidates: &[Candidate<'_>], hint: &Hint<'_>) -> Option<usize> {
        let Some(session) = hint.session else { return self.0.next(candidates.len()) };
        let key = xxh3_64(session);
        let weight = |&index: &usize| xxh3_64_with_seed(candidates[index].url.as_bytes(), key);
        (0..candidates.len()).max_by_key(weight)
    }
}

#[cfg(test)]
mod tests {
    use super::{ConsistentHashing, Hint, Policy};
    use crate::policies::{
        Candidate,
        testing::{candidates, urls},
    };

    fn pick(policy: &ConsistentHashing, candidates: &[Candidate<'_>], session: u32) -> usize {
        let session = session.to_string();
        let hint = Hint { session: Some(session.as_bytes()), ..Hint::default() };
        policy.pick(candidates, &hint).unwrap()
    }

    #[test]
    fn sessions_spread_and_only_those_of_one_that_goes_move() {
        let (policy, urls) = (ConsistentHashing::default(), urls(8));
        let (all, without_last) = (candidates(&urls, &[0; 8]), candidates(&urls, &[0; 7]));
        let mut counts = [0; 8];
        for session in 0..8_000 {
            let picked = pick(&policy, &all, session);
            counts[picked] += 1;
            let then = pick(&policy, &without_last, session);
            assert!(then == picked || picked == 7, "{session}: {picked}, then {then}");
        }
        assert!(counts.iter().all(|count| (880..1_120).contains(count)), "{counts:?}");
    }

    /// So processes of different builds agree.
    #[test]
    fn the_choice_is_the_same_in_every_process() {
        let (policy, urls) = (ConsistentHashing::default(), urls(8));
        let candidates = candidates(&urls, &[0; 8]);
        let picks: Vec<_> = (0..8).map(|session| pick(&policy, &candidates, session)).collect();
        assert_eq!(picks, [7, 1, 5, 5, 7, 1, 2, 3]);
    }

    #[test]
    fn each_in_turn_without_a_session() {
        let (policy, urls) = (ConsistentHashing::default(), urls(2));
        let candidates = candidates(&urls, &[5, 0]);
        let picks = (0..3).map(|_| policy.pick(&candidates, &Hint::default()).unwrap());
        assert_eq!(picks.collect::<Vec<_>>(), [0, 1, 0]);
        assert_eq!(policy.pick(&[], &Hint { session: Some(b"s"), ..Hint::default() }), None);
        assert_eq!(policy.pick(&[], &Hint::default()), None);
    }
}
