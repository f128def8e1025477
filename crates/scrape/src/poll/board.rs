//! Where the tasks leave what they read, and readers find it without waiting.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use arc_swap::ArcSwap;
use plimsoll_wire::Role;
use tokio::time::Instant;

use crate::{Snapshot, State, Trends, WorkerReading};

/// All workers as last read. Writers wait for each other; readers for nobody.
#[derive(Debug)]
pub(super) struct Board {
    stale_after: Duration,
    written: Mutex<Vec<Entry>>,
    view: ArcSwap<View>,
}

/// One worker's place on the board. It is nobody's once the worker is removed.
#[derive(Debug)]
pub(super) struct Seat {
    board: Arc<Board>,
    /// An entry is the seat's own if it shares this.
    worker: Arc<str>,
}

/// What a task has left.
#[derive(Clone, Debug)]
struct Entry {
    latest: Arc<WorkerReading>,
    /// Why the last try gave no reading, if it did not.
    failure: Option<State>,
    /// When its reading grows old, if it has one.
    old_at: Option<Instant>,
    owner: Arc<str>,
}

#[derive(Debug, Default)]
struct View {
    entries: Vec<Entry>,
    snapshot: Arc<Snapshot>,
    /// When the first of the readings in it grows old.
    fresh_until: Option<Instant>,
}

// === impl Board ===

impl Board {
    pub(super) fn new(stale_after: Duration) -> Self {
        Self { stale_after, written: Mutex::default(), view: ArcSwap::default() }
    }

    /// Takes a worker on, in the place that it had or else behind all others.
    pub(super) fn seat(self: &Arc<Self>, worker: &str, role: Role) -> Seat {
        // An allocation of its own, by which a seat that was given anew is known.
        let owner: Arc<str> = worker.into();
        let latest = Arc::new(WorkerReading::pending(Arc::clone(&owner), role));
        let entry = Entry { latest, failure: None, old_at: None, owner: Arc::clone(&owner) };
        self.write(|entries| match entries.iter_mut().find(|old| *old.latest.worker == *owner) {
            Some(old) => *old = entry,
            None => entries.push(entry),
        });
        Seat { board: Arc::clone(self), worker: owner }
    }

    pub(super) fn remove(&self, worker: &str) {
        self.write(|entries| entries.retain(|entry| *entry.latest.worker != *worker));
    }

    pub(super) fn snapshot(&self) -> Arc<Snapshot> {
        let (view, now) = (self.view.load(), Instant::now());
        if view.fresh_until.is_none_or(|until| now < until) {
            return Arc::clone(&view.snapshot);
        }
        View::of(view.entries.clone(), now).snapshot
    }

    fn write(&self, change: impl FnOnce(&mut Vec<Entry>)) {
        let mut entries = self.written.lock().unwrap_or_else(PoisonError::into_inner);
        change(&mut entries);
        self.view.store(Arc::new(View::of(entries.clone(), Instant::now())));
    }
}

// === impl Seat ===

impl Seat {
    /// Leaves what was read, and why the last try gave no reading if it gave none. The answer is the
    /// worker as it is to be seen by that.
    pub(super) fn put(
        &self,
        latest: Arc<WorkerReading>,
        failure: Option<State>,
    ) -> Arc<WorkerReading> {
        let read_at = latest.read_at.filter(|_| latest.reading.is_some());
        let old_at = read_at.map(|read_at| read_at + self.board.stale_after);
        let entry = Entry { latest, failure, old_at, owner: Arc::clone(&self.worker) };
        let shown = entry.at(Instant::now());
        self.board.write(|entries| {
            let own = |old: &&mut Entry| Arc::ptr_eq(&old.owner, &self.worker);
            if let Some(old) = entries.iter_mut().find(own) {
                *old = entry;
            }
        });
        shown
    }
}

// === impl Entry ===

impl Entry {
    /// It may be shown as it is.
    fn is_fresh(&self, now: Instant) -> bool {
        self.old_at.is_none_or(|old_at| now < old_at)
    }

    /// As it is to be seen now: without a reading that is old, and then in the state of what came
    /// since, or `Stale` if nothing did.
    fn at(&self, now: Instant) -> Arc<WorkerReading> {
        if self.is_fresh(now) {
            return Arc::clone(&self.latest);
        }
        Arc::new(WorkerReading {
            state: self.failure.unwrap_or(State::Stale),
            reading: None,
            sources: Vec::new(),
            trends: Trends::default(),
            ..WorkerReading::clone(&self.latest)
        })
    }
}

// === impl View ===

impl View {
    fn of(entries: Vec<Entry>, now: Instant) -> Self {
        let workers = entries.iter().map(|entry| entry.at(now)).collect();
        let fresh = entries.iter().filter(|entry| entry.is_fresh(now));
        let fresh_until = fresh.filter_map(|entry| entry.old_at).min();
        Self { entries, snapshot: Arc::new(Snapshot { workers }), fresh_until }
    }
}

#[cfg(test)]
mod tests {
    use std::{sync::Arc, time::Duration};

    use plimsoll_wire::Role;
    use tokio::time::{Instant, advance};

    use super::Board;
    use crate::{Reading, State, WorkerReading};

    const LIMIT: Duration = Duration::from_secs(3);

    fn read(worker: &str) -> Arc<WorkerReading> {
        Arc::new(WorkerReading {
            state: State::Ok,
            reading: Some(Reading::default()),
            read_at: Some(Instant::now()),
            ..WorkerReading::pending(worker.into(), Role::Decode)
        })
    }

    fn states(board: &Board) -> Vec<(State, bool)> {
        let snapshot = board.snapshot();
        snapshot.workers.iter().map(|worker| (worker.state, worker.reading.is_some())).collect()
    }

    #[tokio::test(start_paused = true)]
    async fn a_reading_leaves_when_it_grows_old() {
        let board = Arc::new(Board::new(LIMIT));
        let (a, b) = (board.seat("a", Role::Decode), board.seat("b", Role::Decode));
        assert_eq!(states(&board), [(State::Pending, false); 2]);
        let reading = read("a");
        assert_eq!(a.put(Arc::clone(&reading), None).state, State::Ok);
        advance(LIMIT / 2).await;
        assert_eq!(a.put(reading, Some(State::Timeout)).state, State::Ok, "it is young enough");
        b.put(read("b"), None);
        assert_eq!(states(&board), [(State::Ok, true); 2]);
        advance(LIMIT / 2).await;
        assert_eq!(states(&board), [(State::Timeout, false), (State::Ok, true)]);
        advance(LIMIT / 2).await;
        assert_eq!(states(&board), [(State::Timeout, false), (State::Stale, false)]);
    }

    #[tokio::test(start_paused = true)]
    async fn a_removed_worker_does_not_come_back() {
        let board = Arc::new(Board::new(LIMIT));
        let gone = board.seat("a", Role::Decode);
        board.seat("b", Role::Decode);
        board.remove("a");
        gone.put(read("a"), None);
        assert_eq!(states(&board), [(State::Pending, false)]);
        let new = board.seat("a", Role::Decode);
        gone.put(read("a"), None);
        assert_eq!(states(&board), [(State::Pending, false); 2]);
        new.put(read("a"), None);
        assert_eq!(states(&board), [(State::Pending, false), (State::Ok, true)]);
    }
}
