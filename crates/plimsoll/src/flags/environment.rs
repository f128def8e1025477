//! `PLIMSOLL_*`: each flag in capitals, with underscores for dashes.

use std::ffi::{OsStr, OsString};

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
        let is_ours = find(command, &flag).is_some() || refused(&flag).is_some();
        if !is_ours || is_service_link(name, &value) {
            continue;
        }
        let value = value.into_string().map_err(|_| UsageError::NotText(variable.to_owned()))?;
        let place = Place::Environment { variable: variable.to_owned() };
        settings.push(Setting::new(command, &flag, Value::Untyped(value), place)?);
    }
    Ok(settings)
}

/// Whether Kubernetes wrote this: `tcp://10.0.0.1:30001` in `PLIMSOLL_PORT`, and of a service
/// `plimsoll-redis` also `PLIMSOLL_REDIS_SERVICE_HOST` and `PLIMSOLL_REDIS_PORT_6379_TCP_ADDR`.
fn is_service_link(name: &str, value: &OsStr) -> bool {
    let is_address = |value: &str| {
        ["tcp://", "udp://", "sctp://"].iter().any(|scheme| value.starts_with(scheme))
    };
    let of_port = |(_, port): (&str, &str)| port.starts_with(|first: char| first.is_ascii_digit());
    value.to_str().is_some_and(is_address)
        || name.ends_with("_SERVICE_HOST")
        || name.ends_with("_SERVICE_PORT")
        || name.contains("_SERVICE_PORT_")
        || name.split_once("_PORT_").is_some_and(of_port)
}
