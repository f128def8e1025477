//! The router within this process, with what the `plimsoll` program lays over it.

use std::{io, net::SocketAddr, time::Duration};

use plimsoll::{AmendLayer, DrainLayer, Exporter, MeterLayer};
use plimsoll_router::{Cluster, Router, RouterConfig};
use plimsoll_wire::{Backend, Role, topology::DEFAULT_BOOTSTRAP_PORT};
use tokio::time::interval;
use tower_layer::Layer;

use crate::{engine::Engines, threads::Threads};

/// Nothing listens there: the engines of the bench do not meet.
pub(crate) const BOOTSTRAP_PORT: u16 = DEFAULT_BOOTSTRAP_PORT;

/// How often piled-up histogram samples are taken in, as in the program.
const UPKEEP: Duration = Duration::from_secs(5);

/// Starts a router over plain workers.
pub(crate) fn of_plain(engines: &Engines, workers: usize) -> io::Result<Threads> {
    start(all(engines.plain(workers), Role::Plain).collect())
}

/// Starts a router over prefill and decode workers.
pub(crate) fn of_pairs(engines: &Engines, workers: usize) -> io::Result<Threads> {
    let (prefill, decode) = engines.pairs(workers);
    start(all(prefill, Role::Prefill).chain(all(decode, Role::Decode)).collect())
}

/// Takes in piled-up histogram samples, for ever.
pub(crate) async fn keep_up(exporter: Exporter) {
    let mut ticks = interval(UPKEEP);
    loop {
        ticks.tick().await;
        exporter.upkeep();
    }
}

fn start(workers: Vec<Backend>) -> io::Result<Threads> {
    let config = RouterConfig::new(workers);
    let kinds = config.policies;
    let cluster = Cluster::new(config);
    let policies = cluster.needed_roles().iter().map(|&role| (role, kinds.of(role).as_str()));
    let exporter = Exporter::builder().smg(true).policies(policies.collect()).build();
    let (drain, meter) = (DrainLayer::off(), MeterLayer::new(exporter.sink()));
    let amend = AmendLayer::new(cluster.max_body());
    let service = || drain.layer(meter.layer(amend.layer(Router::new(cluster.clone()))));
    let beside = {
        let cluster = cluster.clone();
        async move {
            let _probes = cluster.probe();
            keep_up(exporter.clone()).await;
        }
    };
    Threads::start(service, beside)
}

fn all(engines: &[SocketAddr], role: Role) -> impl Iterator<Item = Backend> {
    let bootstrap_port = (role == Role::Prefill).then_some(BOOTSTRAP_PORT);
    let backend =
        move |engine| Backend { url: format!("http://{engine}").into(), role, bootstrap_port };
    engines.iter().map(backend)
}
