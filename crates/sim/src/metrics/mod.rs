//! The `/metrics` page, in the order and spelling of SGLang 0.5.23 with `--enable-metrics`, or of
//! vLLM (see [`vllm`]).
//!
//! Of SGLang's, constants are there from the start, once per tensor rank. Gauges that change are absent until
//! a rank's first batch. Counters move when a request finishes. Families no scraper of load or
//! tokens reads are left out.

mod gauges;
mod histogram;
mod served;
mod text;
mod vllm;

use plimsoll_wire::Engine as Kind;

use self::text::Page;
pub(crate) use self::{
    served::{Finished, Served},
    vllm::{Ending, Tally},
};
use crate::{state::Engine, sync::lock};

/// Renders the page.
pub(crate) fn page(engine: &Engine) -> String {
    match engine.config.engine {
        Kind::Sglang => sglang_page(engine),
        Kind::Vllm => vllm::page(engine),
    }
}

fn sglang_page(engine: &Engine) -> String {
    let mut page = Page::new("sglang:");
    lock(&engine.served).write(&mut page, engine);
    gauges::constants(&mut page, engine);
    gauges::changing(&mut page, engine);
    page.into_text()
}
