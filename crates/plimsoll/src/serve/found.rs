//! Workers that are found, not given: what a source has now is what there is to be.
//!
//! What counts is what the source says now, not what has changed since the last look: a worker that
//! could not be taken in, say because it drains still, comes with a later one.

use plimsoll_router::Cluster;
use plimsoll_wire::Backend;

/// The workers that came by one source.
#[derive(Debug, Default)]
pub(super) struct Found {
    workers: Vec<Backend>,
}

/// What was wrong at the last look: it is said once, not at each.
#[derive(Debug, Default)]
pub(super) struct Trouble(Option<String>);

// === impl Found ===

impl Found {
    /// How many there are.
    pub(super) fn count(&self) -> usize {
        self.workers.len()
    }

    /// Takes in who is new and lets go who is gone. Says what was in the way.
    pub(super) fn adopt(&mut self, cluster: &Cluster, wanted: &[Backend]) -> Option<String> {
        self.workers.retain(|worker| {
            let stays = wanted.contains(worker);
            if !stays {
                // One that somebody else has removed is gone as well.
                let _ = cluster.remove(&worker.url);
            }
            stays
        });
        let mut trouble = None;
        let there = cluster.workers();
        for worker in wanted {
            let mut same = there.iter().filter(|known| *known.url() == worker.url);
            if same.any(|known| !known.is_draining()) {
                continue;
            }
            match cluster.add(worker.clone()) {
                Ok(_) if self.workers.contains(worker) => {}
                Ok(_) => self.workers.push(worker.clone()),
                Err(error) => trouble = Some(format!("a worker is left out: {error}")),
            }
        }
        trouble
    }
}

// === impl Trouble ===

impl Trouble {
    /// Logs it, unless it is what it was.
    pub(super) fn is(&mut self, now: Option<String>) {
        if let Some(trouble) = now.as_ref().filter(|_| now != self.0) {
            tracing::warn!("{trouble}");
        }
        self.0 = now;
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use plimsoll_router::{Cluster, RouterConfig};
    use plimsoll_wire::{Backend, Role};

    use super::Found;

    fn cluster(url: &str) -> Arc<Cluster> {
        let decode = Backend { url: url.into(), role: Role::Decode, bootstrap_port: None };
        Cluster::new(RouterConfig::new(vec![decode]))
    }

    fn at(hosts: &[&str]) -> Vec<Backend> {
        let worker = |host| Backend {
            url: format!("http://{host}:7").into(),
            role: Role::Prefill,
            bootstrap_port: Some(8998),
        };
        hosts.iter().map(worker).collect()
    }

    fn urls(cluster: &Cluster) -> Vec<String> {
        cluster.workers().iter().map(|worker| worker.url().to_string()).collect()
    }

    #[test]
    fn workers_are_what_the_source_says() {
        let (cluster, mut found) = (cluster("http://d"), Found::default());
        assert_eq!(found.adopt(&cluster, &at(&["10.0.0.1", "[fd00::1]"])), None);
        assert_eq!(urls(&cluster), ["http://d", "http://10.0.0.1:7", "http://[fd00::1]:7"]);
        assert_eq!(found.adopt(&cluster, &at(&["10.0.0.2", "10.0.0.1"])), None);
        assert_eq!(urls(&cluster), ["http://d", "http://10.0.0.1:7", "http://10.0.0.2:7"]);
        // One that was removed by hand is still what the source says.
        cluster.remove("http://10.0.0.1:7").unwrap();
        assert_eq!(found.adopt(&cluster, &at(&["10.0.0.1"])), None);
        assert_eq!(urls(&cluster), ["http://d", "http://10.0.0.1:7"]);
        assert_eq!(found.adopt(&cluster, &[]), None);
        assert_eq!(urls(&cluster), ["http://d"]);
    }

    #[test]
    fn a_worker_that_was_given_by_its_url_is_not_the_sources_to_remove() {
        let (cluster, mut found) = (cluster("http://10.0.0.1:7"), Found::default());
        assert_eq!(found.adopt(&cluster, &at(&["10.0.0.1"])), None);
        assert_eq!(found.adopt(&cluster, &[]), None);
        assert_eq!(urls(&cluster), ["http://10.0.0.1:7"]);
    }
}
