//! Reads engines' metrics pages and merges their ranks into one true KV-cache reading.
//!
//! An engine's page repeats one pool on each tensor rank, names things differently in each version,
//! and leaves out what it has not computed yet. [`Page::read`] translates the names (a [`dialect`] an
//! engine), drops what is no value and reduces the copies of each pool; [`Reading::of`] makes of the
//! data ranks what one worker holds. What a page does not say is `None`, never 0.
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

pub mod dialect;
pub mod exposition;
mod page;
mod reading;
mod signal;
mod snapshot;
mod state;

pub use self::{
    page::{Discarded, Page},
    reading::{Facts, Pool, Queue, Reading},
    signal::Signal,
    snapshot::{Identity, Snapshot, Source, Trends, WorkerReading},
    state::State,
};
