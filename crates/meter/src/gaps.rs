use std::time::Duration;

/// The upper bounds of the buckets, in seconds: 1 ms to 10 s.
pub(crate) const BOUNDS: [f64; 13] =
    [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0];

/// The same in nanoseconds.
const BOUND_NANOS: [u128; BOUNDS.len()] = {
    let (mut nanos, mut index) = ([0; BOUNDS.len()], 0);
    while index < BOUNDS.len() {
        nanos[index] = (BOUNDS[index] * 1e9) as u128;
        index += 1;
    }
    nanos
};

/// The times between arrivals of text in one stream, by bucket.
///
/// Kept in the request and handed to the metrics once, at its end: a sample at each event would
/// cost more than reading the event does. Each bucket keeps its count and its sum, so counts and
/// sums stay exact when its mean is recorded that many times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Gaps {
    buckets: [Bucket; BOUNDS.len() + 1],
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Bucket {
    count: u32,
    sum: Duration,
}

// === impl Gaps ===

impl Gaps {
    pub(crate) fn add(&mut self, gap: Duration) {
        let nanos = gap.as_nanos();
        let bucket = BOUND_NANOS.iter().filter(|&&bound| bound < nanos).count();
        let bucket = &mut self.buckets[bucket];
        bucket.count = bucket.count.saturating_add(1);
        bucket.sum = bucket.sum.saturating_add(gap);
    }

    /// For each bucket that is not empty: the mean, and how many gaps it stands for.
    pub fn means(&self) -> impl Iterator<Item = (Duration, u32)> {
        let filled = self.buckets.iter().filter(|bucket| bucket.count > 0);
        filled.map(|bucket| (bucket.sum / bucket.count, bucket.count))
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::Gaps;

    #[test]
    fn each_bucket_keeps_its_count_and_mean() {
        let mut gaps = Gaps::default();
        for millis in [1, 10, 6, 20_000] {
            gaps.add(Duration::from_millis(millis));
        }
        let means: Vec<_> = gaps.means().map(|(mean, count)| (mean.as_millis(), count)).collect();
        assert_eq!(means, [(1, 1), (8, 2), (20_000, 1)]);
    }
}
