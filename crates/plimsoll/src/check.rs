//! `plimsoll check`: whether a configuration is valid, and what its workers say.

use std::{collections::HashSet, error::Error, fmt::Write as _, process::ExitCode};

use futures_util::future::join_all;
use plimsoll_scrape::{Report, ScrapeConfig, Target, WorkerReport};
use plimsoll_wire::Backend;
use tokio::{task::JoinSet, time::Instant};

use crate::{
    flags::{self, Launch, Settings},
    kv::{Client, PATIENCE, Probe, exit_code},
    output, serve,
};

/// The heads of the columns.
const HEADS: [&str; 7] = ["WORKER", "ROLE", "HEALTH", "METRICS", "ENGINE", "VERSION", "STATE"];

/// What is not known.
const UNKNOWN: &str = "-";

/// Validates all configurations before the first worker is asked, then asks those of each.
pub(crate) fn run(launches: &[Launch]) -> Result<ExitCode, Box<dyn Error>> {
    let settings: Vec<_> = launches.iter().map(flags::resolve).collect::<Result<_, _>>()?;
    let mut is_complete = true;
    for (launch, settings) in launches.iter().zip(&settings) {
        let file = launch.config().map(|path| format!("{}: ", path.display()));
        output::print(&format!("{}the configuration is valid\n", file.unwrap_or_default()))?;
        for warning in &settings.warnings {
            eprintln!("plimsoll: {warning}");
        }
        let (table, all_well) = serve::block_on(check(settings))?;
        output::print(&table)?;
        is_complete &= all_well;
    }
    Ok(exit_code(is_complete))
}

/// A table of the workers, and whether each is up, has a reading and is what it was given as.
async fn check(settings: &Settings) -> (String, bool) {
    let (workers, all_found) = workers(settings).await;
    let key = settings.readings_authorization();
    let probe = Probe::new(settings.upstream.read(ScrapeConfig {
        // They are looked at once, soon: nothing grows old until then.
        stale_after: PATIENCE * 2,
        timeout: settings.readings.timeout,
        authorization: key.clone(),
        ..ScrapeConfig::every(ScrapeConfig::MIN_INTERVAL)
    }));
    let client = Client::new(&settings.upstream);
    let mut healths = JoinSet::new();
    for (index, backend) in workers.iter().enumerate() {
        let url = &backend.url;
        let pages = settings.readings.pages.iter().filter(|(worker, _)| **worker == **url);
        let metrics_urls = pages.map(|(_, page)| page.clone()).collect();
        probe.watch(Target { backend: backend.clone(), metrics_urls });
        let (url, key) = (format!("{url}{}", settings.health.endpoint), key.clone());
        let (client, within) = (client.clone(), settings.health.timeout);
        healths.spawn(async move { (index, client.get(&url, key.as_ref(), within).await) });
    }
    let mut health = vec!["down".to_owned(); workers.len()];
    while let Some(answer) = healths.join_next().await {
        match answer {
            Ok((index, Ok((status, _)))) if status.is_success() => health[index] = "up".to_owned(),
            Ok((index, Ok((status, _)))) => health[index] = status.as_u16().to_string(),
            #[cfg(feature = "tls")]
            Ok((index, Err(error))) => {
                if let Some(fault) = error.tls_fault() {
                    eprintln!("plimsoll: {}: {fault}", workers[index].url);
                }
            }
            _ => {}
        }
    }
    let report = probe.settled().await.report(Instant::now());
    let all_up = health.iter().all(|health| health == "up");
    let all_read = report.workers.iter().all(WorkerReport::has_reading);
    let all_match = report.workers.iter().all(|worker| worker.mismatch.is_none());
    (table(&report, &health), all_found && all_up && all_read && all_match)
}

/// The workers, those included that are found now, and whether all could be looked for and each role
/// has one.
async fn workers(settings: &Settings) -> (Vec<Backend>, bool) {
    let (mut workers, mut all_found) = (serve::workers(&settings.topology), true);
    let names = &settings.worker_names;
    let lookups = join_all(names.iter().map(serve::look_up)).await;
    for (name, addresses) in names.iter().zip(lookups) {
        match addresses {
            Ok(found) => workers.extend(found),
            Err(error) => {
                eprintln!("plimsoll: cannot look up {}:{}: {error}", name.host, name.port);
                all_found = false;
            }
        }
    }
    #[cfg(feature = "kubernetes")]
    if let Some(pods) = &settings.pods {
        match Box::pin(serve::find_pods(pods)).await {
            Ok((found, trouble)) => {
                workers.extend(found);
                if let Some(trouble) = trouble {
                    eprintln!("plimsoll: {trouble}");
                    all_found = false;
                }
            }
            Err(error) => {
                eprintln!("plimsoll: {error}");
                all_found = false;
            }
        }
    }
    // One may be named twice, and be found once more: it is one, and has one line.
    let mut seen = HashSet::new();
    workers.retain(|worker| seen.insert(worker.url.clone()));
    for role in settings.topology.roles() {
        if !workers.iter().any(|worker| worker.role == *role) {
            eprintln!("plimsoll: there is no {role} worker");
            all_found = false;
        }
    }
    (workers, all_found)
}

/// The workers in aligned columns, each with what is to be done below it.
fn table(report: &Report, health: &[String]) -> String {
    let rows: Vec<_> =
        report.workers.iter().zip(health).map(|(worker, health)| row(worker, health)).collect();
    let mut widths = HEADS.map(str::len);
    for row in &rows {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let mut text = String::new();
    let line = |text: &mut String, cells: &[&str; HEADS.len()]| {
        for (cell, width) in cells.iter().zip(widths) {
            // Writing to a string cannot fail.
            let _ = write!(text, "{cell:width$}  ");
        }
        text.truncate(text.trim_end().len());
        text.push('\n');
    };
    line(&mut text, &HEADS);
    for (cells, worker) in rows.iter().zip(&report.workers) {
        line(&mut text, &cells.each_ref().map(String::as_str));
        if !worker.hint.is_empty() {
            let _ = writeln!(text, "    {}", worker.hint);
        }
    }
    text
}

fn row(worker: &WorkerReport, health: &str) -> [String; HEADS.len()] {
    let metrics = match &*worker.state {
        "pending" | "unauthorized" | "unreachable" | "timeout" | "malformed" => UNKNOWN,
        "disabled" => "off",
        _ => "on",
    };
    let known = |text: Option<&str>| text.unwrap_or(UNKNOWN).escape_debug().to_string();
    [
        worker.worker.clone(),
        worker.role.to_string(),
        health.to_owned(),
        metrics.to_owned(),
        known(worker.engine.as_deref()),
        known(worker.version.as_deref()),
        worker.state.to_string(),
    ]
}

#[cfg(test)]
mod tests {
    use plimsoll_sim::{SimConfig, SimEngine};
    use plimsoll_wire::Role;

    use super::*;
    use crate::flags::Topology;

    async fn engine(config: SimConfig) -> SimEngine {
        SimEngine::start(config.addr("127.0.0.1:0".parse().unwrap())).await.unwrap()
    }

    #[tokio::test]
    async fn each_worker_has_a_line_and_a_remedy() {
        let prefill = engine(SimConfig::default().role(Role::Prefill)).await;
        let decode = engine(SimConfig::default().role(Role::Decode).metrics(false)).await;
        let pair = |port: Option<u16>, decode: &str| Topology::Pd {
            prefill: vec![(prefill.url().to_string(), port)],
            decode: vec![decode.to_owned()],
        };
        let (own, decode) = (prefill.bootstrap_port(), decode.url().to_string());
        let (text, is_complete) = check(&Settings::new(pair(own, &decode))).await;
        let lines: Vec<Vec<_>> =
            text.lines().map(|line| line.split_whitespace().collect()).collect();
        assert_eq!(lines[0], HEADS);
        assert_eq!(lines[1][1..5], ["prefill", "up", "on", "sglang"]);
        assert_eq!(lines[1][6], "capacity_only");
        assert_eq!(lines[3][1..4], ["decode", "up", "off"]);
        assert!(text.contains("\n    its metrics are off: start the engine with --enable-metrics"));
        assert!(is_complete);

        let (text, is_complete) = check(&Settings::new(pair(Some(1), &decode))).await;
        assert!(text.contains("\n    its bootstrap port is ") && !is_complete, "{text}");

        let (text, is_complete) = check(&Settings::new(pair(own, "http://127.0.0.1:1"))).await;
        let last = text.lines().nth_back(1).unwrap_or_default();
        let cells: Vec<_> = last.split_whitespace().collect();
        assert_eq!(cells[1..], ["decode", "down", "-", "-", "-", "unreachable"]);
        assert!(!is_complete);
    }
}
