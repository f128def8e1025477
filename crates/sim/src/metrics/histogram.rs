//! Histograms.

use std::time::Duration;

use super::text::{Labels, Page, number};

/// Counts of observed values, by upper bound.
#[derive(Debug)]
pub(super) struct Histogram {
    bounds: &'static [f64],
    counts: Vec<u64>,
    sum: f64,
    count: u64,
}

// === impl Histogram ===

impl Histogram {
    pub(super) fn new(bounds: &'static [f64]) -> Self {
        Self { bounds, counts: vec![0; bounds.len()], sum: 0.0, count: 0 }
    }

    pub(super) fn observe(&mut self, time: Duration) {
        self.observe_value(time.as_secs_f64());
    }

    pub(super) fn observe_value(&mut self, value: f64) {
        if let Some(at) = self.bounds.iter().position(|&bound| value <= bound) {
            self.counts[at] += 1;
        }
        self.sum += value;
        self.count += 1;
    }

    /// Writes sum, buckets and count, in prometheus_client's multi-process order.
    pub(super) fn write(&self, page: &mut Page, name: &str, labels: &Labels<'_>) {
        page.sample(&format!("{name}_sum"), labels, self.sum);
        self.write_buckets(page, name, labels);
        page.sample(&format!("{name}_count"), labels, self.count as f64);
    }

    /// Writes buckets, count and sum, in its single-process order.
    pub(super) fn write_alone(&self, page: &mut Page, name: &str, labels: &Labels<'_>) {
        self.write_buckets(page, name, labels);
        page.sample(&format!("{name}_count"), labels, self.count as f64);
        page.sample(&format!("{name}_sum"), labels, self.sum);
    }

    /// `le` is sorted in among the labels.
    fn write_buckets(&self, page: &mut Page, name: &str, labels: &Labels<'_>) {
        let place = labels.partition_point(|(label, _)| *label < "le");
        let bucket = format!("{name}_bucket");
        let mut total = 0;
        let counts = self.counts.iter().copied().chain([self.count - self.in_bounds()]);
        for (&bound, count) in self.bounds.iter().chain([&f64::INFINITY]).zip(counts) {
            total += count;
            let bound = number(bound);
            let mut labels = labels.to_vec();
            labels.insert(place, ("le", &bound));
            page.sample(&bucket, &labels, total as f64);
        }
    }

    fn in_bounds(&self) -> u64 {
        self.counts.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buckets_add_up() {
        let mut histogram = Histogram::new(&[0.5, 1.0]);
        for millis in [100, 700, 5000] {
            histogram.observe(Duration::from_millis(millis));
        }
        let mut page = Page::new("sglang:");
        histogram.write(&mut page, "t", &[("engine_type", "x"), ("model_name", "m")]);
        assert_eq!(
            page.into_text(),
            "sglang:t_sum{engine_type=\"x\",model_name=\"m\"} 5.8\n\
             sglang:t_bucket{engine_type=\"x\",le=\"0.5\",model_name=\"m\"} 1.0\n\
             sglang:t_bucket{engine_type=\"x\",le=\"1.0\",model_name=\"m\"} 2.0\n\
             sglang:t_bucket{engine_type=\"x\",le=\"+Inf\",model_name=\"m\"} 3.0\n\
             sglang:t_count{engine_type=\"x\",model_name=\"m\"} 3.0\n"
        );
    }
}
