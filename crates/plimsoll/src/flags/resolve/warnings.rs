//! What the user should know about flags that are accepted.

use clap::ValueEnum;

use crate::flags::{
    Flags,
    place::Given,
    table::{Later, NoEffect, Policy, names},
};

/// One line for each flag that never has an effect here, and one for all those that have none yet.
pub(super) fn warnings(flags: &Flags, given: &Given) -> Vec<String> {
    let mut warnings: Vec<_> = names::<NoEffect>()
        .into_iter()
        .filter(|name| given.has(name))
        .map(|name| format!("{}: has no effect: engines do this themselves", given.place(&name)))
        .collect();
    let later: Vec<_> = names::<Later>()
        .into_iter()
        .filter(|name| given.has(name))
        .map(|name| format!("--{name}"))
        .chain(policies(flags))
        .collect();
    if !later.is_empty() {
        warnings.push(format!("without effect in this version: {}", later.join(", ")));
    }
    warnings
}

/// The policies asked for that are not built.
fn policies(flags: &Flags) -> impl Iterator<Item = String> {
    let others = flags.policies.given().filter(|(_, policy)| *policy != Policy::RoundRobin);
    others.filter_map(|(flag, policy)| {
        let policy = policy.to_possible_value()?;
        Some(format!("--{flag} {} (round_robin is used)", policy.get_name()))
    })
}
