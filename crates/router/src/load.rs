use std::fmt;

use crate::Load;

/// Tells how full workers' KV caches are. Asked for each request: it must not wait.
pub trait LoadSource: fmt::Debug + Send + Sync + 'static {
    /// The load of a worker, by its base URL; `None` if it is not known, or too old.
    fn load(&self, worker: &str) -> Option<Load>;
}
