//! Locking without poison.

use std::sync::{Mutex, MutexGuard, PoisonError};

/// Locks, also after a holder panicked: every critical section here leaves the data whole.
pub(crate) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
