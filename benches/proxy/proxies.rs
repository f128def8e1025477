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

pub(crate) const PROXIES: [Proxy; 8] = [
    Proxy::new("floor_1", 1, |engines, _| boxed(floor::one_leg(engines))),
    Proxy::new("floor_2", 2, |engines, _| boxed(floor::two_legs(engines))),
    Proxy::new("layer", 1, |engines, _| boxed(floor::layer(engines))),
    Proxy::new("router_1", 1, |engines, count| boxed(router::of_plain(engines, count))).choosing(),
    Proxy::new("router_2", 2, |engines, count| boxed(router::of_pairs(engines, count))).choosing(),
    Proxy::new("nginx", 1, |engines, _| boxed(Program::nginx(engines)))
        .unless(child::nginx_missing),
    Proxy::new("plimsoll_1", 1, |engines, count| boxed(Program::of_plain(engines, count)))
        .choosing()
        .unless(child::plimsoll_missing),
    Proxy::new("plimsoll_2", 2, |engines, count| boxed(Program::of_pairs(engines, count)))
        .choosing()
        .unless(child::plimsoll_missing),
];

// === impl Proxy ===

impl Proxy {
    const fn new(name: &'static str, legs: usize, start: Start) -> Self {
        Self { name, legs, chooses: false, missing: || None, start }
    }

    const fn choosing(self) -> Self {
        Self { chooses: true, ..self }
    }

    const fn unless(self, missing: fn() -> Option<String>) -> Self {
        Self { missing, ..self }
    }

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
