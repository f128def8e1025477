//! What counters grew by in a minute.

use std::{collections::VecDeque, time::Duration};

use plimsoll_wire::Role;
use tokio::time::Instant;

use super::{Counter, Counts, Totals};
use crate::Trends;

/// How far back trends look.
const SPAN: Duration = Duration::from_secs(60);

/// Values closer than this to the last kept are not kept.
const STEP: Duration = Duration::from_secs(1);

/// The counters of one worker over the last minute.
#[derive(Debug, Default)]
pub(crate) struct Window {
    kept: VecDeque<(Instant, Totals)>,
    /// Each series as last seen, and their sums.
    latest: Counts,
    totals: Totals,
}

// === impl Window ===

impl Window {
    /// Takes the values of `now` in. A counter that went down began anew, as its engine did: what was
    /// before is forgotten, and the answer is true. One that is not there, as where one of several
    /// pages failed, stays as it was. What a page says that was not read before was not counted in
    /// the last minute alone, so that the minute begins with it.
    pub(crate) fn push(&mut self, now: Instant, mut counts: Counts) -> bool {
        let restarted = counts.fell_below(&self.latest);
        if restarted || counts.has_pages_beside(&self.latest) {
            self.kept.clear();
        }
        if !restarted {
            counts.keep(std::mem::take(&mut self.latest));
        }
        let totals = counts.totals();
        // The oldest stays as long as it is what the minute is measured from.
        while self.kept.get(1).is_some_and(|&(at, _)| now.duration_since(at) >= SPAN) {
            self.kept.pop_front();
        }
        if self.kept.back().is_none_or(|&(at, _)| now.duration_since(at) >= STEP) {
            self.kept.push_back((now, totals));
        }
        (self.latest, self.totals) = (counts, totals);
        restarted
    }

    /// What they say.
    pub(crate) fn trends(&self, role: Role) -> Trends {
        let mut finds =
            [(Counter::Found, Counter::LookedUp), (Counter::BatchedFound, Counter::Batched)]
                .to_vec();
        if role != Role::Decode {
            finds.push((Counter::FinishedFound, Counter::Finished));
        }
        let known = |&&(_, all): &&(Counter, Counter)| self.totals[all as usize].is_some();
        let finds = finds.iter().find(known);
        Trends {
            cache_hit_ratio: finds
                .and_then(|&(found, all)| self.quotient(found, all))
                .filter(|&ratio| ratio <= 1.0),
            transfer_bytes_per_second: self.quotient(Counter::Speed, Counter::SpeedWeight),
            transfer_seconds: self.quotient(Counter::Time, Counter::TimeWeight),
            preemptions: self.totals[Counter::Preemptions as usize],
            transfer_failures: self.totals[Counter::TransferFailures as usize],
        }
    }

    /// What one grew by, divided by what another grew by: nothing by nothing is not known. One that
    /// was not on the page a minute ago had counted nothing then.
    fn quotient(&self, part: Counter, whole: Counter) -> Option<f64> {
        let (_, oldest) = self.kept.front()?;
        let whole = self.totals[whole as usize]? - oldest[whole as usize].unwrap_or(0.0);
        let part = self.totals[part as usize]? - oldest[part as usize].unwrap_or(0.0);
        (whole > 0.0).then(|| part / whole).filter(|quotient| quotient.is_finite())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use plimsoll_wire::Role;
    use tokio::time::Instant;

    use super::{Counter, Counts, Window};
    use crate::Page;

    fn hits(found: f64, all: f64) -> Counts {
        let mut counts = Counts::of_a_page();
        counts.add(None, String::new(), Counter::Found, found);
        counts.add(None, String::new(), Counter::LookedUp, all);
        counts
    }

    /// The pages of several nodes, each of a rank of its own.
    fn nodes(nodes: &[(usize, f64, f64)]) -> Counts {
        let mut all = Counts::default();
        for &(node, found, looked_up) in nodes {
            let mut page = Counts::of_a_page();
            page.add(Some(node.to_string()), String::new(), Counter::Found, found);
            page.add(Some(node.to_string()), String::new(), Counter::LookedUp, looked_up);
            page.add(Some(node.to_string()), String::new(), Counter::Preemptions, looked_up);
            page.move_to(node);
            all.absorb(page);
        }
        all
    }

    fn ratio(window: &Window) -> Option<f64> {
        window.trends(Role::Plain).cache_hit_ratio
    }

    #[test]
    fn only_the_last_minute_counts() {
        let start = Instant::now();
        let mut window = Window::default();
        window.push(start, hits(1000.0, 1000.0));
        assert_eq!(ratio(&window), None, "one look says nothing");
        window.push(start + Duration::from_secs(30), hits(1090.0, 1100.0));
        assert_eq!(ratio(&window), Some(0.9));
        window.push(start + Duration::from_secs(90), hits(1100.0, 1200.0));
        assert_eq!(ratio(&window), Some(0.1));
        window.push(start + Duration::from_secs(150), hits(1100.0, 1200.0));
        assert_eq!(ratio(&window), None, "nothing by nothing");
    }

    #[test]
    fn a_counter_that_falls_begins_anew() {
        let start = Instant::now();
        let mut window = Window::default();
        assert!(!window.push(start, hits(500.0, 1000.0)));
        assert!(window.push(start + Duration::from_secs(1), hits(0.0, 5.0)));
        assert_eq!(ratio(&window), None);
        window.push(start + Duration::from_secs(2), hits(5.0, 15.0));
        assert_eq!(ratio(&window), Some(0.5));
    }

    #[test]
    fn a_page_that_fails_once_is_no_restart() {
        let at = |seconds| Instant::now() + Duration::from_secs(seconds);
        let mut window = Window::default();
        window.push(at(0), nodes(&[(0, 0.0, 100.0), (1, 0.0, 5000.0)]));
        assert!(!window.push(at(1), nodes(&[(0, 5.0, 110.0)])));
        assert_eq!(ratio(&window), Some(0.5));
        assert_eq!(window.trends(Role::Plain).preemptions, Some(5110.0), "none is taken back");
        assert!(!window.push(at(2), nodes(&[(0, 5.0, 110.0), (1, 20.0, 5040.0)])));
        assert_eq!(ratio(&window), Some(0.5));
        assert!(window.push(at(3), nodes(&[(0, 0.0, 1.0)])), "this one fell");
        assert!(!window.push(at(4), nodes(&[(0, 0.0, 1.0), (1, 20.0, 5040.0)])));
        assert_eq!(ratio(&window), None, "the other node's life is not of the last minute");
    }

    #[test]
    fn a_page_that_is_read_later_brings_its_whole_life_with_it() {
        let at = |seconds| Instant::now() + Duration::from_secs(seconds);
        let mut window = Window::default();
        window.push(at(0), nodes(&[(0, 0.0, 0.0)]));
        window.push(at(1), nodes(&[(0, 10.0, 10.0), (1, 0.0, 5000.0)]));
        window.push(at(2), nodes(&[(0, 20.0, 20.0), (1, 0.0, 5000.0)]));
        assert_eq!(ratio(&window), Some(1.0));
    }

    #[test]
    fn two_pages_of_one_series_are_told_apart() {
        let page = |node: usize, found: f64| {
            let mut page = hits(found, 2.0 * found);
            page.move_to(node);
            page
        };
        let both = |first, second| {
            let mut pages = page(0, first);
            pages.absorb(page(1, second));
            pages
        };
        let mut window = Window::default();
        window.push(Instant::now(), both(10.0, 900.0));
        assert!(!window.push(Instant::now(), page(0, 11.0)));
        assert!(window.push(Instant::now(), both(12.0, 800.0)));
    }

    #[test]
    fn the_gauge_that_decode_resets_is_not_asked() {
        let page = |cached: u32, computed: u32| {
            let page = Page::read(&format!(
                "sglang:cache_hit_rate 0.0\n\
                 sglang:realtime_tokens_total{{mode=\"prefill_cache\",tp_rank=\"0\"}} {cached}\n\
                 sglang:realtime_tokens_total{{mode=\"prefill_compute\",tp_rank=\"0\"}} {computed}\n\
                 sglang:realtime_tokens_total{{mode=\"decode\",tp_rank=\"0\"}} 9999\n\
                 sglang:num_retracted_requests_total{{tp_rank=\"0\"}} 3\n\
                 sglang:num_retracted_requests_total{{tp_rank=\"1\"}} 3\n"
            ));
            page.counts
        };
        let mut window = Window::default();
        window.push(Instant::now(), page(100, 100));
        window.push(Instant::now() + Duration::from_secs(1), page(1000, 200));
        let trends = window.trends(Role::Plain);
        assert_eq!((trends.cache_hit_ratio, trends.preemptions), (Some(0.9), Some(3.0)));
    }

    #[test]
    fn transfers_are_in_bytes_and_seconds() {
        let sglang = |sum: f64, count: u32| {
            Page::read(&format!(
                "sglang:kv_transfer_speed_gb_s_sum{{tp_rank=\"0\"}} {sum}\n\
                 sglang:kv_transfer_speed_gb_s_count{{tp_rank=\"0\"}} {count}\n\
                 sglang:kv_transfer_latency_ms_sum{{tp_rank=\"0\"}} {sum}\n\
                 sglang:kv_transfer_latency_ms_count{{tp_rank=\"0\"}} {count}\n"
            ))
        };
        let vllm = |bytes: f64, seconds: f64, count: u32| {
            Page::read(&format!(
                "vllm:nixl_bytes_transferred_sum{{engine=\"0\"}} {bytes}\n\
                 vllm:nixl_xfer_time_seconds_sum{{engine=\"0\"}} {seconds}\n\
                 vllm:nixl_xfer_time_seconds_count{{engine=\"0\"}} {count}\n"
            ))
        };
        for (before, after, speed, time) in [
            (sglang(1.0, 1), sglang(9.0, 5), 2.0 * f64::from(1 << 30), 0.002),
            (vllm(0.0, 0.0, 0), vllm(3e9, 1.5, 3), 2e9, 0.5),
        ] {
            let mut window = Window::default();
            window.push(Instant::now(), before.counts);
            window.push(Instant::now() + Duration::from_secs(1), after.counts);
            let trends = window.trends(Role::Prefill);
            assert_eq!(trends.transfer_bytes_per_second, Some(speed));
            assert_eq!(trends.transfer_seconds, Some(time));
        }
    }
}
