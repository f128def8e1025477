//! Workers that are found by name: each address that a name has in DNS is one.

use std::{io, net::SocketAddr, sync::Arc, time::Duration};

use plimsoll_router::Cluster;
use plimsoll_wire::Backend;
use tokio::{
    net,
    task::JoinSet,
    time::{MissedTickBehavior, interval, timeout},
};

use super::found::{Found, Trouble};
use crate::flags::WorkerName;

/// How often names are looked up, and how long that may take.
const EVERY: Duration = Duration::from_secs(5);

/// The workers of one name.
#[derive(Debug)]
struct Named {
    name: WorkerName,
    found: Found,
    trouble: Trouble,
}

/// Keeps the workers as their names say, until the task is dropped.
pub(super) async fn follow(cluster: Arc<Cluster>, names: Vec<WorkerName>) {
    let named = |name| Named { name, found: Found::default(), trouble: Trouble::default() };
    // Each by itself: a name that takes its time delays no other.
    let mut all: JoinSet<_> =
        names.into_iter().map(|name| named(name).follow(cluster.clone())).collect();
    while all.join_next().await.is_some() {}
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
    async fn follow(mut self, cluster: Arc<Cluster>) {
        let mut ticks = interval(EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            ticks.tick().await;
            self.look(&cluster).await;
        }
    }

    async fn look(&mut self, cluster: &Cluster) {
        let trouble = match look_up(&self.name).await {
            Ok(wanted) => self.found.adopt(cluster, &wanted),
            // A name server that is gone does not make engines go: their probes tell.
            Err(error) => {
                let WorkerName { host, port, .. } = &self.name;
                let workers = self.found.count();
                Some(format!(
                    "cannot look up {host}:{port}, which keeps its {workers} workers: {error}"
                ))
            }
        };
        self.trouble.is(trouble);
    }
}

#[cfg(test)]
mod tests {
    use plimsoll_wire::{Backend, Role};

    use super::look_up;
    use crate::flags::WorkerName;

    fn name(host: &str) -> WorkerName {
        let host = host.to_owned();
        WorkerName { host, port: 7, role: Role::Prefill, bootstrap_port: Some(8998) }
    }

    #[tokio::test]
    async fn a_host_with_both_kinds_of_addresses_counts_once() {
        let worker = Backend {
            url: "http://127.0.0.1:7".into(),
            role: Role::Prefill,
            bootstrap_port: Some(8998),
        };
        assert_eq!(look_up(&name("localhost")).await.unwrap(), [worker]);
        assert!(look_up(&name("no-such-host.invalid")).await.is_err());
    }
}
