//! How and where the engines' metrics are read.

use std::time::Duration;

use http::Uri;
use plimsoll_router::AddressError;

use super::checks::fault;
use crate::flags::{
    Readings, Topology, UsageError,
    error::Problem,
    place::Given,
    secret::without_user_info,
    table::Scraping,
    worker::{base_url, is_same},
};

/// The longest default wait for a reading.
const MAX_TIMEOUT: Duration = Duration::from_millis(900);

/// The settings of the readings of these workers.
pub(super) fn readings(
    flags: &Scraping,
    topology: &Topology,
    given: &Given,
) -> Result<Readings, UsageError> {
    let interval = Duration::from_millis(flags.scrape_interval_ms);
    let timeout = flags.scrape_timeout_ms.map(Duration::from_millis);
    let stale_after = flags.stale_after_ms.map(Duration::from_millis);
    let pages = flags.worker_metrics.iter().map(|text| page(text, topology));
    let pages: Result<_, Problem> = pages.collect();
    Ok(Readings {
        interval,
        timeout: timeout.unwrap_or_else(|| (interval * 9 / 10).min(MAX_TIMEOUT)),
        stale_after: stale_after.unwrap_or(interval * 3),
        pages: pages.map_err(|problem| fault("worker-metrics", given, problem))?,
    })
}

/// Reads `WORKER_URL=METRICS_URL`; the worker must be one of the topology's.
fn page(text: &str, topology: &Topology) -> Result<(String, String), Problem> {
    let (worker, page) =
        text.split_once('=').ok_or_else(|| Problem::WorkerMetrics(without_user_info(text)))?;
    let wanted = base_url(worker)?;
    if let Some((_, host)) = page.rsplit_once('@') {
        return Err(AddressError::UserInfo(host.to_owned()).into());
    }
    let known = topology.urls().find(|url| is_same(url, &wanted));
    let known = known.ok_or_else(|| Problem::NoSuchWorker(worker.to_owned()))?;
    let schemes: &[_] = if cfg!(feature = "tls") { &["http", "https"] } else { &["http"] };
    let uri = page.parse::<Uri>().ok();
    let uri = uri.filter(|uri| uri.scheme_str().is_some_and(|scheme| schemes.contains(&scheme)));
    match uri.and_then(|uri| uri.into_parts().authority) {
        Some(_) => Ok((known.to_owned(), page.to_owned())),
        None => Err(Problem::WorkerMetrics(text.to_owned())),
    }
}
