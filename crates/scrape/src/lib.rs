//! Reads engines' metrics pages and merges their ranks into one true KV-cache reading.
//!
//! An engine's page repeats one pool on each tensor rank, names things differently in each version,
//! and leaves out what it has not computed yet. [`Page::read`] translates the names (a dialect an
//! engine), drops what is no value and reduces the copies of each pool; [`Reading::of`] makes of the
//! data ranks what one worker holds. What a page does not say is `None`, never 0.
//! [`Scraper`] does that for many workers again and again, asks SGLang elsewhere for what its page
//! does not say, and has a [`Snapshot`] of them all at any time.
//!
//! ```
//! use plimsoll_scrape::{Facts, Page, Reading};
//!
//! let page = Page::read(
//!     r#"
//! sglang:max_total_num_tokens{tp_rank="0"} 2.581504e+06
//! sglang:max_total_num_tokens{tp_rank="1"} 2.581504e+06
//! "#,
//! );
//! let reading = Reading::of(&page, &Facts::default());
//! assert_eq!((reading.capacity(), reading.used()), (Some(2_581_504.0), None));
//! assert_eq!(reading.state.hint(), "no batch has run yet: send one request");
//! ```

mod counters;
mod dialect;
pub mod exposition;
mod fetch;
mod mean;
mod mismatch;
mod page;
mod poll;
mod reading;
mod render;
mod signal;
mod snapshot;
mod state;

pub use self::{
    fetch::HttpClient,
    mismatch::Mismatch,
    page::{Discarded, Page},
    poll::{ScrapeConfig, Scraper, Target, role_of_mode},
    reading::{Facts, Pool, Queue, Reading},
    render::{FAMILIES, Family, Kind, Load, PoolReport, Report, RoleReport, Table, WorkerReport},
    snapshot::{Identity, Snapshot, Source, Trends, WorkerReading},
    state::State,
};
