//! What the user should know about flags that are accepted.

#[cfg(feature = "kubernetes")]
use crate::flags::table::Discovery;
use crate::flags::{
    Flags,
    place::Given,
    table::{NoEffect, names},
};

/// One line for each flag that has no effect.
pub(super) fn warnings(flags: &Flags, given: &Given) -> Vec<String> {
    let given_of = |names: Vec<String>| names.into_iter().filter(|name| given.has(name));
    let line = |name: String, why| format!("{}: has no effect{why}", given.place(&name));
    given_of(names::<NoEffect>())
        .map(|name| line(name, ": engines do this themselves"))
        .chain(given_of(idle(flags)).map(|name| line(name, " without --service-discovery")))
        .collect()
}

/// The flags about pods, where pods are not looked for.
#[cfg(feature = "kubernetes")]
fn idle(flags: &Flags) -> Vec<String> {
    if flags.discovery.service_discovery { Vec::new() } else { names::<Discovery>() }
}

/// Without the feature such flags are turned away.
#[cfg(not(feature = "kubernetes"))]
fn idle(_: &Flags) -> Vec<String> {
    Vec::new()
}
