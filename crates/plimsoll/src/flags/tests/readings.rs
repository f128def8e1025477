//! How and where the engines' metrics are read.

use std::time::Duration;

use super::*;

fn readings(line: &str) -> super::super::Readings {
    settings(&format!("{WORKER} {line}")).readings
}

#[test]
fn limits_follow_the_interval_unless_given() {
    let millis = Duration::from_millis;
    for (line, interval, timeout, stale_after) in [
        ("", 1000, 900, 3000),
        ("--scrape-interval-ms 200", 200, 180, 600),
        ("--scrape-interval-ms 5000", 5000, 900, 15_000),
        ("--scrape-timeout-ms 50 --stale-after-ms 70", 1000, 50, 70),
    ] {
        let readings = readings(line);
        let seen = (readings.interval, readings.timeout, readings.stale_after);
        assert_eq!(seen, (millis(interval), millis(timeout), millis(stale_after)), "{line}");
    }
    assert!(error(&format!("{WORKER} --scrape-interval-ms 99")).contains("scrape-interval-ms"));
}

#[test]
fn pages_belong_to_workers() {
    let line = "--worker-urls http://W:80/ --worker-metrics http://w=http://n1:9/metrics?x=1 \
                --worker-metrics http://w:80/=http://n2/";
    let pages = settings(line).readings.pages;
    let want = [("http://W:80", "http://n1:9/metrics?x=1"), ("http://W:80", "http://n2/")];
    assert!(pages.iter().map(|(worker, page)| (worker.as_str(), page.as_str())).eq(want));
    for (page, wanted) in [
        ("http://n1:9/metrics", "names no page"),
        ("http://other=http://n1:9/metrics", "http://other is no worker"),
        ("http://w=n1:9/metrics", "names no page"),
        ("w=http://n1:9/metrics", "is no worker URL"),
    ] {
        let error = error(&format!("--worker-urls http://w --worker-metrics {page}"));
        assert!(error.starts_with("--worker-metrics") && error.contains(wanted), "{error}");
    }
}
