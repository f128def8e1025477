//! What goes on beside the traffic: each worker is probed from when it comes until it has gone.

use std::{collections::HashMap, sync::Arc};

use tokio::task::JoinHandle;

use super::Cluster;
use crate::{Worker, client::Client, workers};

/// The task of one worker. It ends when this is dropped.
#[derive(Debug)]
struct Tended {
    worker: Arc<Worker>,
    task: JoinHandle<()>,
}

/// Tends the workers that there are, until the task is dropped.
///
/// It compares the set with what it tends after each change, however many came at once: no change
/// can be missed, whichever thread makes it.
pub(super) async fn tend_all(cluster: Arc<Cluster>) {
    let client = Client::new(cluster.config());
    let mut changes = cluster.changes();
    let mut tended = HashMap::<Arc<str>, Tended>::new();
    loop {
        changes.borrow_and_update();
        let live = cluster.workers();
        let mut before = std::mem::take(&mut tended);
        for worker in live.iter() {
            let same = before.remove(worker.url()).filter(|old| Arc::ptr_eq(&old.worker, worker));
            let task = same.unwrap_or_else(|| Tended::start(&cluster, worker, &client));
            tended.insert(worker.url().clone(), task);
        }
        // Of those that are left the workers have gone.
        drop(before);
        if changes.changed().await.is_err() {
            return;
        }
    }
}

/// Probes a worker until it is to go and has no more to do, and then takes it out of the set.
async fn tend(cluster: Arc<Cluster>, worker: Arc<Worker>, client: Client) {
    tokio::select! {
        () = workers::probe(cluster.clone(), worker.clone(), client) => {}
        () = worker.drained() => cluster.let_go(&worker),
    }
}

// === impl Tended ===

impl Tended {
    fn start(cluster: &Arc<Cluster>, worker: &Arc<Worker>, client: &Client) -> Self {
        let task = tokio::spawn(tend(cluster.clone(), worker.clone(), client.clone()));
        Self { worker: worker.clone(), task }
    }
}

impl Drop for Tended {
    fn drop(&mut self) {
        self.task.abort();
    }
}
