//! What the user should know about flags that are accepted.

use crate::flags::{
    place::Given,
    table::{NoEffect, names},
};

/// One line for each flag that has no effect here.
pub(super) fn warnings(given: &Given) -> Vec<String> {
    names::<NoEffect>()
        .into_iter()
        .filter(|name| given.has(name))
        .map(|name| format!("{}: has no effect: engines do this themselves", given.place(&name)))
        .collect()
}
