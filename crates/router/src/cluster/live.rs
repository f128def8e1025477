//! The set of workers that there are now.

use std::sync::Arc;

use arc_swap::{ArcSwap, Guard};
use tokio::sync::watch;

use crate::{Worker, workers::Address};

/// The workers of one moment, in the order in which they came.
pub(crate) type Workers = Arc<Vec<Arc<Worker>>>;

/// The workers that come and go. Reading is wait-free; a change swaps the whole set.
#[derive(Debug)]
pub(super) struct LiveSet {
    workers: ArcSwap<Vec<Arc<Worker>>>,
    /// Counts the changes.
    version: watch::Sender<u64>,
}

// === impl LiveSet ===

impl LiveSet {
    pub(super) fn new() -> Self {
        Self { workers: ArcSwap::default(), version: watch::Sender::new(0) }
    }

    /// The set for as long as a look takes; not to be held across an `await`.
    pub(super) fn look(&self) -> Guard<Workers> {
        self.workers.load()
    }

    /// The set, to keep.
    pub(super) fn get(&self) -> Workers {
        self.workers.load_full()
    }

    /// The number of changes so far, and a word of each that follows.
    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.version.subscribe()
    }

    /// The worker that is there.
    pub(super) fn find(&self, address: &Address) -> Option<Arc<Worker>> {
        find(&self.look(), address).cloned()
    }

    /// Takes a worker in.
    ///
    /// # Errors
    ///
    /// The worker that is at its address already.
    pub(super) fn add(&self, worker: &Arc<Worker>) -> Result<(), Arc<Worker>> {
        let mut present = None;
        self.workers.rcu(|live| {
            present = find(live, worker.address()).cloned();
            let new = present.is_none().then(|| worker.clone());
            live.iter().cloned().chain(new).collect::<Vec<_>>()
        });
        match present {
            Some(present) => Err(present),
            None => {
                self.count_change();
                Ok(())
            }
        }
    }

    /// Takes this very worker out; says whether it was there.
    pub(super) fn remove(&self, worker: &Arc<Worker>) -> bool {
        let others = |live: &Workers| -> Vec<_> {
            live.iter().filter(|other| !Arc::ptr_eq(other, worker)).cloned().collect()
        };
        let before = self.workers.rcu(others);
        let was_there = before.iter().any(|other| Arc::ptr_eq(other, worker));
        if was_there {
            self.count_change();
        }
        was_there
    }

    fn count_change(&self) {
        self.version.send_modify(|version| *version += 1);
    }
}

fn find<'a>(live: &'a [Arc<Worker>], address: &Address) -> Option<&'a Arc<Worker>> {
    live.iter().find(|worker| worker.address().is_same(address))
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, thread};

    use plimsoll_wire::{Backend, Role};

    use super::LiveSet;
    use crate::{RouterConfig, Worker};

    fn worker(url: &str) -> Arc<Worker> {
        let backend = Backend { url: url.into(), role: Role::Plain, bootstrap_port: None };
        Arc::new(Worker::new(backend, &RouterConfig::new(vec![]), &Arc::default()).unwrap())
    }

    #[test]
    fn a_change_is_counted_once() {
        let set = LiveSet::new();
        let changes = set.changes();
        let one = worker("http://a");
        assert!(set.add(&one).is_ok());
        assert!(Arc::ptr_eq(&set.add(&worker("http://A:80/")).unwrap_err(), &one));
        assert_eq!((*changes.borrow(), set.get().len()), (1, 1));
        assert!(!set.remove(&worker("http://a")));
        assert!(set.remove(&one) && !set.remove(&one));
        assert_eq!((*changes.borrow(), set.get().len()), (2, 0));
    }

    #[test]
    fn changes_at_the_same_time_are_all_made() {
        let set = LiveSet::new();
        thread::scope(|scope| {
            for thread in 0..4 {
                let set = &set;
                scope.spawn(move || {
                    for index in 0..50 {
                        let mine = worker(&format!("http://t{thread}:{}", index + 1));
                        set.add(&mine).unwrap();
                        assert!(index % 2 == 0 || set.remove(&mine));
                        // One of the threads is the first, and only one.
                        let _ = set.add(&worker(&format!("http://shared:{}", index + 1)));
                    }
                });
            }
        });
        assert_eq!(set.get().len(), 4 * 25 + 50);
        assert_eq!(*set.changes().borrow(), 4 * (50 + 25) + 50);
    }
}
