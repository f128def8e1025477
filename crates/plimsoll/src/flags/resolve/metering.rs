//! What is counted, and where it is written.

use std::time::Duration;

use http::HeaderName;
use plimsoll::tenant_header as tenant_of;

use super::checks::fault;
use crate::flags::{
    UsageError,
    error::Problem,
    place::Given,
    settings::{Drain, UsageLogPlace},
    table::{Leaving, Metering, OnDisconnect},
};

/// Where finished requests are written.
pub(super) fn usage_log(
    flags: &Metering,
    given: &Given,
) -> Result<Option<UsageLogPlace>, UsageError> {
    match flags.usage_log.as_deref() {
        Some("") => Err(fault("usage-log", given, Problem::NoPath)),
        Some("-") => Ok(Some(UsageLogPlace::Stdout)),
        path => Ok(path.map(|path| UsageLogPlace::File(path.into()))),
    }
}

/// The header that names the tenant, if it is none that carries a key.
pub(super) fn tenant_header(
    flags: &Metering,
    given: &Given,
) -> Result<Option<HeaderName>, UsageError> {
    let Some(name) = &flags.tenant_header else { return Ok(None) };
    let problem = |problem| fault("tenant-header", given, problem);
    let header: HeaderName = name.parse().map_err(|_| problem(Problem::Header(name.clone())))?;
    match tenant_of(header.clone()) {
        Ok(_) => Ok(Some(header)),
        Err(error) => Err(problem(Problem::Credentials(error))),
    }
}

/// How abandoned requests are read on.
pub(super) fn drain(flags: &Leaving) -> Option<Drain> {
    (flags.on_disconnect == OnDisconnect::Drain).then(|| Drain {
        max_time: Duration::from_secs(flags.drain_max_secs),
        max_requests: flags.drain_max_requests,
    })
}
