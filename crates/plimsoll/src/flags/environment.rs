//! `PLIMSOLL_*`: each flag in capitals, with underscores for dashes.

use std::ffi::OsString;

use super::{
    UsageError,
    layer::{Setting, Value},
    place::Place,
    table::{find, refused},
};

const PREFIX: &str = "PLIMSOLL_";

/// The flags that the environment sets. Other variables with our prefix are left alone: Kubernetes
/// makes several for a service of our name, some of them named like our flags (`PLIMSOLL_PORT`).
pub(super) fn settings(
    command: &mut clap::Command,
    variables: impl IntoIterator<Item = (OsString, OsString)>,
) -> Result<Vec<Setting>, UsageError> {
    let mut settings = Vec::new();
    for (variable, value) in variables {
        let Some(variable) = variable.to_str() else {
            continue;
        };
        let Some(name) = variable.strip_prefix(PREFIX) else {
            continue;
        };
        let flag = name.to_ascii_lowercase().replace('_', "-");
        if find(command, &flag).is_none() && refused(&flag).is_none() {
            continue;
        }
        let value = value.into_string().map_err(|_| UsageError::NotText(variable.to_owned()))?;
        if is_service_link(&value) {
            continue;
        }
        let place = Place::Environment { variable: variable.to_owned() };
        settings.push(Setting::new(command, &flag, Value::Untyped(value), place)?);
    }
    Ok(settings)
}

/// Whether Kubernetes wrote this: `tcp://10.0.0.1:30001` in `PLIMSOLL_PORT`.
fn is_service_link(value: &str) -> bool {
    ["tcp://", "udp://", "sctp://"].iter().any(|scheme| value.starts_with(scheme))
}
