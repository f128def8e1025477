use std::sync::Arc;

use tokio::time::Instant;

use super::{Candidate, Hint, LeastKv, Policy};
use crate::policies::{
    Load,
    testing::{candidates, urls},
};

/// Capacity and ratio of the reading, tokens pending, legs in flight.
type Worker = (Option<(Option<u64>, f64)>, u64, usize);

fn fleet<'a>(urls: &'a [Arc<str>], workers: &[Worker]) -> Vec<Candidate<'a>> {
    let pairs = urls.iter().zip(workers);
    pairs
        .map(|(url, &(load, pending_tokens, in_flight))| {
            let load = load.map(|(capacity_tokens, usage_ratio)| Load {
                capacity_tokens,
                usage_ratio,
                read_at: Instant::now(),
            });
            Candidate { url, in_flight, load, pending_tokens }
        })
        .collect()
}

fn picks<const N: usize>(workers: &[Worker]) -> [usize; N] {
    let (policy, urls) = (LeastKv::new("decode"), urls(workers.len()));
    let fleet = fleet(&urls, workers);
    [(); N].map(|()| policy.pick(&fleet, &Hint::default()).unwrap())
}

fn known(capacity: u64, ratio: f64) -> Option<(Option<u64>, f64)> {
    Some((Some(capacity), ratio))
}

#[test]
fn most_free_tokens() {
    // A larger cache may have more room though it is fuller.
    assert_eq!(picks(&[(known(100, 0.1), 0, 0), (known(1_000, 0.5), 0, 9)]), [1]);
    // What was sent since the reading counts.
    assert_eq!(picks(&[(known(1_000, 0.1), 500, 0), (known(1_000, 0.5), 0, 9)]), [1]);
    // Also beyond what fits.
    assert_eq!(picks(&[(known(1_000, 0.9), 900, 0), (known(1_000, 0.9), 800, 9)]), [1]);
}

#[test]
fn shares_where_a_capacity_is_not_known() {
    for unknown in [None, Some(0)] {
        let workers = [(known(9_000, 0.6), 0, 0), (Some((unknown, 0.5)), 0, 5)];
        assert_eq!(picks(&workers), [1]);
        let workers = [(known(9_000, 0.4), 8_000, 5), (Some((unknown, 0.5)), 0, 0)];
        assert_eq!(picks(&workers), [0], "what is pending does not count");
    }
}

#[test]
fn who_is_unknown_waits_for_all_who_are_known() {
    assert_eq!(picks(&[(None, 0, 0), (known(1_000, 0.99), 5_000, 90)]), [1; 3]);
    assert_eq!(picks(&[(known(1_000, f64::NAN), 0, 0), (known(1_000, 0.99), 0, 90)]), [1; 3]);
}

#[test]
fn as_good_within_a_hundredth() {
    let workers = [(known(1_000, 0.5), 0, 3), (known(1_000, 0.5), 10, 2), (None, 0, 0)];
    assert_eq!(picks(&workers), [1; 2], "fewer in flight");
    let workers = [(known(1_000, 0.5), 0, 2), (known(1_000, 0.5), 11, 0)];
    assert_eq!(picks(&workers), [0; 2], "beyond it");
    let workers = [(Some((None, 0.5)), 0, 2), (Some((None, 0.505)), 0, 2), (None, 0, 0)];
    assert_eq!(picks(&workers), [0, 1, 0, 1], "in turn");
}

#[test]
fn fewest_in_flight_while_nothing_is_known() {
    let (policy, urls) = (LeastKv::new("decode"), urls(3));
    let blind = candidates(&urls, &[1, 0, 0]);
    let seeing = fleet(&urls, &[(known(9, 0.1), 0, 1), (None, 0, 0), (None, 0, 0)]);
    let is_blind = || policy.blind.load(std::sync::atomic::Ordering::Relaxed);
    assert_eq!(policy.pick(&[], &Hint::default()), None);
    assert!(!is_blind(), "none is not one that is unknown");
    for pick in [1, 2, 1] {
        assert_eq!(policy.pick(&blind, &Hint::default()), Some(pick));
        assert!(is_blind());
    }
    assert_eq!(policy.pick(&seeing, &Hint::default()), Some(0));
    assert!(!is_blind() && policy.needs_load());
}
