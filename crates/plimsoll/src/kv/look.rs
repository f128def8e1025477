//! One look at all targets.

use std::{collections::HashSet, sync::Arc, time::Duration};

use http::HeaderValue;
use plimsoll_scrape::{Report, ScrapeConfig, Target, WorkerReport};
use plimsoll_wire::{Backend, Role};
use tokio::{task::JoinSet, time::Instant};

use super::{
    ask::{Answer, ask},
    client::Client,
    probe::{PATIENCE, Probe},
};
use crate::{
    flags::{Kv, Secret},
    upstream::Upstream,
};

/// Time between readings of an engine: for one look, and at most for several.
const AT_ONCE: Duration = Duration::from_millis(200);
const AT_LEISURE: Duration = Duration::from_secs(1);

/// Looks at the same targets as often as it is told to.
#[derive(Debug)]
pub(super) struct Looker {
    targets: Vec<Known>,
    key: Option<HeaderValue>,
    client: Client,
    probe: Probe,
}

/// A target, and what is known of it.
#[derive(Debug)]
struct Known {
    url: Arc<str>,
    /// What it is read directly as, if it is.
    watched_as: Option<Role>,
    /// It was read directly with success, so it is not asked again whether it is a router.
    is_engine: bool,
}

// === impl Looker ===

impl Looker {
    pub(super) fn new(flags: &Kv, upstream: &Upstream) -> Self {
        let key = flags.worker_api_key.as_ref().and_then(Secret::bearer);
        let pause = flags.watch.map(Duration::from_secs_f64);
        let interval = pause.map_or(AT_ONCE, |pause| pause.clamp(AT_ONCE, AT_LEISURE));
        let mut seen = HashSet::new();
        let targets = flags.targets.iter().filter(|url| seen.insert(url.as_str()));
        let known =
            |url: &String| Known { url: url.as_str().into(), watched_as: None, is_engine: false };
        let config = upstream.read(ScrapeConfig {
            timeout: PATIENCE.mul_f64(0.9),
            stale_after: PATIENCE * 2,
            authorization: key.clone(),
            ..ScrapeConfig::every(interval)
        });
        Self {
            targets: targets.map(known).collect(),
            key,
            client: Client::new(upstream),
            probe: Probe::new(config),
        }
    }

    /// All workers of all targets, and whether each has a reading.
    pub(super) async fn look(&mut self) -> (Report, bool) {
        let mut reports = self.ask().await;
        let snapshot = self.probe.settled().await;
        let mut direct = snapshot.report(Instant::now()).workers;
        let (mut workers, mut seen, mut is_complete) = (Vec::new(), HashSet::new(), true);
        for (target, report) in self.targets.iter_mut().zip(&mut reports) {
            let found = match report.take() {
                Some(report) => report.workers,
                None => take(&mut direct, &target.url),
            };
            let has_reading = !found.is_empty() && found.iter().all(WorkerReport::has_reading);
            target.is_engine |= target.watched_as.is_some() && has_reading;
            is_complete &= has_reading;
            // A worker may be a target itself and one of a router's.
            workers.extend(found.into_iter().filter(|it| seen.insert(it.worker.clone())));
        }
        (Report::new(workers), is_complete)
    }

    /// Asks the targets what they are, in their order; those that are no routers are read directly
    /// from now on.
    async fn ask(&mut self) -> Vec<Option<Report>> {
        let mut questions = JoinSet::new();
        for (index, target) in self.targets.iter().enumerate().filter(|(_, it)| !it.is_engine) {
            let (client, url, key) =
                (self.client.clone(), Arc::clone(&target.url), self.key.clone());
            questions.spawn(async move { (index, ask(client, &url, key).await) });
        }
        let mut reports = vec![None; self.targets.len()];
        // A task that panicked leaves its target without a report, as one that does not answer.
        while let Some(answer) = questions.join_next().await {
            let Ok((index, answer)) = answer else { continue };
            let Known { url, watched_as, .. } = &mut self.targets[index];
            match answer {
                Answer::Router(report) => {
                    self.probe.forget(url);
                    *watched_as = None;
                    reports[index] = Some(*report);
                }
                Answer::ClientPort(place) => {
                    eprintln!("plimsoll: {url} is a router's port for clients: {place}");
                }
                Answer::Engine(said) => {
                    let role = role(said, *watched_as);
                    if *watched_as != Some(role) {
                        let backend = Backend { url: Arc::clone(url), role, bootstrap_port: None };
                        self.probe.watch(Target { backend, metrics_urls: Vec::new() });
                        *watched_as = Some(role);
                    }
                }
            }
        }
        reports
    }
}

/// What an engine is read as: it may say so late, and say nothing for a while after that.
fn role(said: Option<Role>, before: Option<Role>) -> Role {
    said.or(before).unwrap_or(Role::Plain)
}

/// Takes the worker with this URL out.
fn take(workers: &mut Vec<WorkerReport>, url: &str) -> Vec<WorkerReport> {
    let index = workers.iter().position(|worker| worker.worker == url);
    index.map(|index| workers.swap_remove(index)).into_iter().collect()
}

#[cfg(test)]
mod tests {
    use plimsoll_wire::Role;

    use super::role;

    #[test]
    fn a_role_is_kept_while_the_engine_says_nothing() {
        let mut before = None;
        for (said, wanted) in [
            (None, Role::Plain),
            (Some(Role::Decode), Role::Decode),
            (None, Role::Decode),
            (Some(Role::Plain), Role::Plain),
        ] {
            assert_eq!(role(said, before), wanted, "{said:?} after {before:?}");
            before = Some(wanted);
        }
    }
}
