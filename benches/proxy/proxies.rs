//! The proxies that are measured.

use std::{io, net::SocketAddr, time::Duration};

use crate::{
    BoxError,
    child::{self, Program},
    engine::Engines,
    floor, router,
};

/// One that can be started.
#[derive(Debug)]
pub(crate) struct Proxy {
    pub(crate) name: &'static str,
    /// Requests to workers that one request becomes.
    pub(crate) legs: usize,
    /// It has workers to choose from.
    pub(crate) chooses: bool,
    /// Why it cannot be started, if so.
    pub(crate) missing: fn() -> Option<String>,
    /// It may not answer yet.
    pub(crate) start: Start,
}

type Start = fn(&Engines, usize) -> Result<Box<dyn Running>, BoxError>;

/// One that runs, until this is dropped.
pub(crate) trait Running {
    /// Where it takes requests.
    fn address(&self) -> SocketAddr;

    /// What it has taken so far, with what it does beside the traffic.
    fn cpu_time(&self) -> io::Result<Duration>;
}

const WITHIN: Proxy = Proxy {
    name: "floor_1",
    legs: 1,
    chooses: false,
    missing: || None,
    start: |engines, _| boxed(floor::one_leg(engines)),
};

const PLIMSOLL: Proxy = Proxy {
    name: "plimsoll_1",
    chooses: true,
    missing: child::plimsoll_missing,
    start: |engines, workers| boxed(Program::plimsoll_over_plain(engines, workers)),
    ..WITHIN
};

pub(crate) const PROXIES: [Proxy; 8] = [
    WITHIN,
    Proxy {
        name: "floor_2",
        legs: 2,
        start: |engines, _| boxed(floor::two_legs(engines)),
        ..WITHIN
    },
    Proxy { name: "layer", start: |engines, _| boxed(floor::layer(engines)), ..WITHIN },
    Proxy {
        name: "router_1",
        chooses: true,
        start: |engines, workers| boxed(router::of_plain(engines, workers)),
        ..WITHIN
    },
    Proxy {
        name: "router_2",
        legs: 2,
        chooses: true,
        start: |engines, workers| boxed(router::of_pairs(engines, workers)),
        ..WITHIN
    },
    Proxy {
        name: "nginx",
        missing: child::nginx_missing,
        start: |engines, _| boxed(Program::nginx(engines)),
        ..WITHIN
    },
    PLIMSOLL,
    Proxy {
        name: "plimsoll_2",
        legs: 2,
        start: |engines, workers| boxed(Program::plimsoll_over_pairs(engines, workers)),
        ..PLIMSOLL
    },
];

// === impl Proxy ===

impl Proxy {
    /// Those that it is compared with.
    pub(crate) fn bases(&self) -> impl Iterator<Item = &'static Proxy> {
        let (name, legs) = (self.name, self.legs);
        PROXIES.iter().filter(move |base| {
            let is_base = base.name.starts_with("floor") || base.name == "nginx";
            is_base && base.legs == legs && base.name != name
        })
    }
}

fn boxed<R: Running + 'static>(
    running: Result<R, impl Into<BoxError>>,
) -> Result<Box<dyn Running>, BoxError> {
    Ok(Box::new(running.map_err(Into::into)?))
}
