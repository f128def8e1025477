//! The values of the `model` label, kept few.

use std::{
    collections::HashSet,
    sync::{Arc, PoisonError, RwLock},
};

/// Longer names are cut for the label: nobody names a model so, and each is stored for good.
const MAX_NAME: usize = 256;

/// Admits the first names that come, up to a cap; the rest are `other`. What was admitted stays, so
/// the series of one name never change theirs.
#[derive(Debug)]
pub(super) struct Models {
    admitted: RwLock<HashSet<Arc<str>>>,
    max: usize,
    unknown: Arc<str>,
    other: Arc<str>,
}

// === impl Models ===

impl Models {
    pub(super) fn new(max: usize) -> Self {
        Self { admitted: RwLock::default(), max, unknown: "unknown".into(), other: "other".into() }
    }

    /// The label for a model; `served` names are not counted against the cap.
    pub(super) fn label(&self, model: Option<&Arc<str>>, served: bool) -> Arc<str> {
        let Some(model) = model else {
            return self.unknown.clone();
        };
        if served {
            return model.clone();
        }
        let end = (0..=MAX_NAME).rev().find(|&end| model.is_char_boundary(end));
        let name = if model.len() > MAX_NAME { &model[..end.unwrap_or_default()] } else { model };
        let known = self.admitted.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        known.unwrap_or_else(|| self.admit(name))
    }

    fn admit(&self, name: &str) -> Arc<str> {
        let mut admitted = self.admitted.write().unwrap_or_else(PoisonError::into_inner);
        if let Some(known) = admitted.get(name) {
            return known.clone();
        }
        if admitted.len() >= self.max {
            return self.other.clone();
        }
        let name = Arc::<str>::from(name);
        admitted.insert(name.clone());
        name
    }
}

#[cfg(test)]
mod tests {
    use super::Models;

    #[test]
    fn names_past_the_cap_are_other_and_those_admitted_stay() {
        let models = Models::new(2);
        let label = |name: &str| models.label(Some(&name.into()), false).to_string();
        assert_eq!([label("a"), label("b"), label("c"), label("a")], ["a", "b", "other", "a"]);
        assert_eq!(&*models.label(Some(&"c".into()), true), "c");
        assert_eq!(&*models.label(None, false), "unknown");
        assert!(Models::new(1).label(Some(&"é".repeat(400).into()), false).len() <= 256);
    }
}
