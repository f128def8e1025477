/// The ratio of several pools together: weighed by what they hold, or, where that is known of none,
/// the plain mean.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct RatioMean {
    weighed: Mean,
    plain: Mean,
}

/// A mean that stays exact for one value, and for equal ones.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mean {
    value: f64,
    weight: f64,
}

// === impl RatioMean ===

impl RatioMean {
    /// Adds the ratio of a pool, if it is known.
    pub(crate) fn add(&mut self, ratio: Option<f64>, capacity: Option<f64>) {
        if let Some(ratio) = ratio {
            self.plain.add(ratio, 1.0);
            self.weighed.add(ratio, capacity.unwrap_or_default());
        }
    }

    /// The ratio, if any is known.
    pub(crate) fn get(&self) -> Option<f64> {
        self.weighed.get().or(self.plain.get())
    }

    /// It is the plain mean.
    pub(crate) fn is_plain(&self) -> bool {
        self.weighed.get().is_none() && self.plain.get().is_some()
    }
}

// === impl Mean ===

impl Mean {
    /// Adds a value; without a weight it does not count.
    pub(crate) fn add(&mut self, value: f64, weight: f64) {
        if weight > 0.0 {
            self.weight += weight;
            self.value += (value - self.value) * (weight / self.weight);
        }
    }

    /// The mean of those that count, if any does.
    pub(crate) fn get(&self) -> Option<f64> {
        (self.weight > 0.0).then_some(self.value)
    }
}
