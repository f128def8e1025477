//! Handles, made once for each label set.

use std::{
    collections::HashMap,
    fmt,
    hash::Hash,
    sync::{Arc, PoisonError, RwLock},
};

use foldhash::fast::RandomState;

/// A map that only grows; what bounds it is the set of keys.
pub(super) struct Cache<K, V>(RwLock<HashMap<K, Arc<V>, RandomState>>);

// === impl Cache ===

impl<K: Clone + Eq + Hash, V> Cache<K, V> {
    pub(super) fn get_or_insert(&self, key: &K, make: impl FnOnce() -> V) -> Arc<V> {
        let known = self.0.read().unwrap_or_else(PoisonError::into_inner).get(key).cloned();
        known.unwrap_or_else(|| {
            let mut map = self.0.write().unwrap_or_else(PoisonError::into_inner);
            map.entry(key.clone()).or_insert_with(|| Arc::new(make())).clone()
        })
    }
}

impl<K, V> Default for Cache<K, V> {
    fn default() -> Self {
        Self(RwLock::new(HashMap::default()))
    }
}

impl<K, V> fmt::Debug for Cache<K, V> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cache").finish_non_exhaustive()
    }
}
