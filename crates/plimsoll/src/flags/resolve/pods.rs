//! Which pods of Kubernetes are workers.

use plimsoll_wire::Role;

use super::checks::fault;
use crate::flags::{
    Flags, Pods, UsageError,
    place::Given,
    pods::{PodsError, namespace, selector},
};

/// The pods that are workers, if workers are found so.
pub(super) fn pods(flags: &Flags, given: &Given) -> Result<Option<Pods>, UsageError> {
    let is_paired = flags.workers.pd_disaggregation;
    let flags = &flags.discovery;
    if !flags.service_discovery {
        return Ok(None);
    }
    let all = [
        (Role::Prefill, "prefill-selector", &flags.prefill_selector),
        (Role::Decode, "decode-selector", &flags.decode_selector),
        (Role::Plain, "selector", &flags.selector),
    ];
    let mut selectors = Vec::new();
    for (role, flag, labels) in all.into_iter().filter(|(.., labels)| !labels.is_empty()) {
        let fault = |error: PodsError| fault(flag, given, error);
        match (is_paired, role) {
            (true, Role::Plain) => return Err(fault(PodsError::PlainInPd)),
            (false, Role::Prefill | Role::Decode) => return Err(fault(PodsError::NeedsPd)),
            _ => selectors.push((role, selector(labels).map_err(fault)?)),
        }
    }
    if selectors.is_empty() {
        return Err(fault("service-discovery", given, PodsError::NoSelector));
    }
    let name = flags.service_discovery_namespace.as_deref().map(namespace).transpose();
    let namespace = name.map_err(|error| fault("service-discovery-namespace", given, error))?;
    Ok(Some(Pods { namespace, port: flags.service_discovery_port, selectors }))
}
