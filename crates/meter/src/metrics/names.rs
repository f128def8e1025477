//! The values of a label that clients choose, kept few.

use std::{
    collections::HashSet,
    sync::{Arc, PoisonError, RwLock},
};

use crate::Record;

/// How many names are told apart unless said otherwise.
pub const MAX_MODELS: usize = 100;

/// Longer names are cut for the label: nobody is named so, and each is stored for good.
const MAX_NAME: usize = 256;

/// Admits the first names that come, up to a cap; the rest are `other`. What was admitted stays, so
/// the series of one name never change theirs.
#[derive(Debug)]
pub(super) struct Names {
    admitted: RwLock<HashSet<Arc<str>>>,
    max: usize,
    unknown: Arc<str>,
    other: Arc<str>,
}

// === impl Names ===

impl Names {
    pub(super) fn new(max: usize) -> Self {
        Self { admitted: RwLock::default(), max, unknown: "unknown".into(), other: "other".into() }
    }

    /// The label for a name, `unknown` for none.
    pub(super) fn label(&self, name: Option<&str>) -> Arc<str> {
        let Some(name) = name else {
            return self.unknown.clone();
        };
        let end = (0..=MAX_NAME).rev().find(|&end| name.is_char_boundary(end));
        let name = if name.len() > MAX_NAME { &name[..end.unwrap_or_default()] } else { name };
        let known = self.admitted.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned();
        known.unwrap_or_else(|| self.admit(name))
    }

    /// The label for a record's model. Those that a worker serves are few, and not counted against
    /// the cap.
    pub(super) fn of(&self, record: &Record) -> Arc<str> {
        let served = record.model.as_ref().filter(|_| record.model_is_served);
        served.cloned().unwrap_or_else(|| self.label(record.model.as_deref()))
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
    use super::Names;

    #[test]
    fn names_past_the_cap_are_other_and_those_admitted_stay() {
        let names = Names::new(2);
        let label = |name: &str| names.label(Some(name)).to_string();
        assert_eq!([label("a"), label("b"), label("c"), label("a")], ["a", "b", "other", "a"]);
        assert_eq!(&*names.label(None), "unknown");
        assert!(Names::new(1).label(Some(&"é".repeat(400))).len() <= 256);
    }
}
