use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
    time::Duration,
};

use foldhash::fast::RandomState;
use tokio::{
    runtime,
    time::{self, Instant},
};

use super::connection::Connection;

/// How long an idle connection is kept: 4 s, since SGLang and vLLM (uvicorn) close theirs after 5 s
/// and a request sent into that moment would be lost.
const MAX_IDLE: Duration = Duration::from_secs(4);

/// How often connections are looked for that nobody asked for in time.
const SWEEP: Duration = Duration::from_secs(1);

/// Idle connections. Clones share them.
#[derive(Clone, Debug, Default)]
pub(super) struct Pool(Arc<Mutex<Shelves>>);

#[derive(Debug, Default)]
struct Shelves {
    /// By the worker's base URL, the one used last at the end.
    idle: HashMap<Arc<str>, Vec<(Instant, Connection)>, RandomState>,
    /// A task sees to it that they do not grow old.
    is_swept: bool,
}

// === impl Pool ===

impl Pool {
    /// The connection to a worker that was used last, if there is one.
    pub(super) fn take(&self, worker: &Arc<str>) -> Option<Connection> {
        let mut shelves = lock(&self.0);
        let shelf = shelves.idle.get_mut(worker)?;
        while let Some((since, mut connection)) = shelf.pop() {
            if since.elapsed() > MAX_IDLE {
                shelf.clear();
            } else if connection.is_idle() {
                return Some(connection);
            }
        }
        None
    }

    /// Keeps a connection for the next request to its worker.
    pub(super) fn put(&self, worker: &Arc<str>, connection: Connection) {
        let mut shelves = lock(&self.0);
        let idle = (Instant::now(), connection);
        match shelves.idle.get_mut(worker) {
            Some(shelf) => shelf.push(idle),
            None => {
                shelves.idle.insert(worker.clone(), vec![idle]);
            }
        }
        if !shelves.is_swept {
            if let Ok(runtime) = runtime::Handle::try_current() {
                runtime.spawn(sweep(Arc::downgrade(&self.0)));
                shelves.is_swept = true;
            }
        }
    }
}

/// Closes what has grown old, until there is nothing left.
async fn sweep(shelves: Weak<Mutex<Shelves>>) {
    loop {
        time::sleep(SWEEP).await;
        let Some(shelves) = shelves.upgrade() else { return };
        let mut shelves = lock(&shelves);
        shelves.idle.retain(|_, shelf| {
            shelf.retain_mut(|(since, connection)| {
                since.elapsed() <= MAX_IDLE && connection.is_idle()
            });
            !shelf.is_empty()
        });
        if shelves.idle.is_empty() {
            shelves.is_swept = false;
            return;
        }
    }
}

fn lock(shelves: &Mutex<Shelves>) -> MutexGuard<'_, Shelves> {
    shelves.lock().unwrap_or_else(PoisonError::into_inner)
}
