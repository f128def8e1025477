//! What SGLang says elsewhere than on its metrics page.

mod get_load;
mod loads;
mod loose;
mod server_info;
mod source;

pub use self::server_info::role_of_mode;
pub(super) use self::{server_info::ServerInfo, source::Loads};

use crate::{Facts, Page, signal::Signal};

/// What one data rank says of itself. Only what it says is there.
#[derive(Clone, Debug, Default, PartialEq)]
struct RankLoad {
    rank: u32,
    values: Vec<(Signal, f64)>,
    /// It has run a batch, so that its zeros mean something.
    has_run: bool,
}

// === impl RankLoad ===

impl RankLoad {
    /// A rank, the first unless it says which, and what is known of it.
    fn new(
        rank: Option<u32>,
        values: impl IntoIterator<Item = (Signal, Option<f64>)>,
        has_run: bool,
    ) -> Self {
        let values = values.into_iter().filter_map(|(signal, value)| Some((signal, value?)));
        Self { rank: rank.unwrap_or_default(), values: values.collect(), has_run }
    }
}

/// Puts the loads beside what a page says; true if any of it was wanted there. Zeros of a worker
/// that has never run a batch (`has_run`) are not known yet, and left out.
fn supply(page: &mut Page, loads: &[RankLoad], facts: &Facts, has_run: bool) -> bool {
    let mut wanted = false;
    let one_rank = loads.len() == 1 && facts.data_ranks.unwrap_or(1) <= 1;
    let only = page.only_rank().filter(|_| one_rank);
    for load in loads {
        let number = load.rank.to_string();
        let name = only.clone().unwrap_or_else(|| (!one_rank).then_some(number));
        for &(signal, value) in &load.values {
            let value = match (signal, facts.rank_capacity) {
                // get_load counts what waits, too
                (Signal::Used, Some(capacity)) => value.min(capacity),
                _ => value,
            };
            if has_run || signal == Signal::Capacity || value > 0.0 {
                wanted |= page.supply(name.as_deref(), signal, value);
            }
        }
    }
    wanted
}

#[cfg(test)]
mod tests;
