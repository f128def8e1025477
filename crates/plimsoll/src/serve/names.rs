//! Workers that are found by name: each address that a name has in DNS is one.
//!
//! What counts is what the name says now, not what has changed since the last look: a worker that
//! could not be taken in, say because it drains still, comes with the next one.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use plimsoll_router::Cluster;
use plimsoll_wire::Backend;
use tokio::{
    net,
    time::{MissedTickBehavior, interval, timeout},
};

use crate::flags::WorkerName;

/// How often names are looked up, and how long that may take.
const EVERY: Duration = Duration::from_secs(5);

/// The workers of one name.
#[derive(Debug)]
struct Named {
    name: WorkerName,
    /// Those that came by it.
    workers: Vec<Backend>,
    /// What was wrong at the last look: it is said once, not at each.
    trouble: Option<String>,
}

/// Keeps the workers as their names say, until the task is dropped.
pub(super) async fn follow(cluster: Arc<Cluster>, names: Vec<WorkerName>) {
    let named = names.into_iter().map(|name| Named { name, workers: Vec::new(), trouble: None });
    let mut named: Vec<_> = named.collect();
    let mut ticks = interval(EVERY);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    while !named.is_empty() {
        ticks.tick().await;
        for one in &mut named {
            one.look(&cluster).await;
        }
    }
}

/// The workers that a name has now. Where an engine has addresses of both kinds it would be found by
/// each, so those of IPv4 count.
pub(crate) async fn look_up(name: &WorkerName) -> io::Result<Vec<Backend>> {
    let WorkerName { host, port, role, bootstrap_port } = name;
    let all: Vec<_> = timeout(EVERY, net::lookup_host((host.as_str(), *port))).await??.collect();
    let has_v4 = all.iter().any(SocketAddr::is_ipv4);
    let wanted = all.iter().filter(|address| address.is_ipv4() || !has_v4);
    let worker = |address: &SocketAddr| Backend {
        url: format!("http://{address}").into(),
        role: *role,
        bootstrap_port: *bootstrap_port,
    };
    Ok(wanted.map(worker).collect())
}

// === impl Named ===

impl Named {
    async fn look(&mut self, cluster: &Cluster) {
        let trouble = match look_up(&self.name).await {
            Ok(wanted) => self.adopt(cluster, &wanted),
            // A name server that is gone does not make engines go: their probes tell.
            Err(error) => {
                let WorkerName { host, port, .. } = &self.name;
                let workers = self.workers.len();
                Some(format!(
                    "cannot look up {host}:{port}, which keeps its {workers} workers: {error}"
                ))
            }
        };
        if let Some(trouble) = trouble.as_ref().filter(|_| trouble != self.trouble) {
            tracing::warn!("{trouble}");
        }
        self.trouble = trouble;
    }

    /// Takes in who is new and lets go who is gone. Says what was in the way.
    fn adopt(&mut self, cluster: &Cluster, wanted: &[Backend]) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use plimsoll_router::{Cluster, RouterConfig};
    use plimsoll_wire::{Backend, Role};

    use super::{Named, look_up};
    use crate::flags::WorkerName;

    fn cluster(url: &str) -> Arc<Cluster> {
        let decode = Backend { url: url.into(), role: Role::Decode, bootstrap_port: None };
        Cluster::new(RouterConfig::new(vec![decode]))
    }

    fn name(host: &str) -> WorkerName {
        let host = host.to_owned();
        WorkerName { host, port: 7, role: Role::Prefill, bootstrap_port: Some(8998) }
    }

    fn named() -> Named {
        Named { name: name("prefill"), workers: Vec::new(), trouble: None }
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
    fn workers_are_what_the_name_says() {
        let (cluster, mut named) = (cluster("http://d"), named());
        assert_eq!(named.adopt(&cluster, &at(&["10.0.0.1", "[fd00::1]"])), None);
        assert_eq!(urls(&cluster), ["http://d", "http://10.0.0.1:7", "http://[fd00::1]:7"]);
        assert_eq!(named.adopt(&cluster, &at(&["10.0.0.2", "10.0.0.1"])), None);
        assert_eq!(urls(&cluster), ["http://d", "http://10.0.0.1:7", "http://10.0.0.2:7"]);
        // One that was removed by hand is still what the name says.
        cluster.remove("http://10.0.0.1:7").unwrap();
        assert_eq!(named.adopt(&cluster, &at(&["10.0.0.1"])), None);
        assert_eq!(urls(&cluster), ["http://d", "http://10.0.0.1:7"]);
        assert_eq!(named.adopt(&cluster, &[]), None);
        assert_eq!(urls(&cluster), ["http://d"]);
    }

    #[test]
    fn a_worker_that_was_given_by_its_url_is_not_the_names_to_remove() {
        let (cluster, mut named) = (cluster("http://10.0.0.1:7"), named());
        assert_eq!(named.adopt(&cluster, &at(&["10.0.0.1"])), None);
        assert_eq!(named.adopt(&cluster, &[]), None);
        assert_eq!(urls(&cluster), ["http://10.0.0.1:7"]);
    }

    #[tokio::test]
    async fn a_host_with_both_kinds_of_addresses_counts_once() {
        assert_eq!(look_up(&name("localhost")).await.unwrap(), at(&["127.0.0.1"]));
        assert!(look_up(&name("no-such-host.invalid")).await.is_err());
    }
}
