//! What holds whatever the input is. Each module is a fuzz target's check; the tests of this package
//! run the same over the seeds.

pub mod answer;
pub mod command_line;
pub mod exposition;

pub mod page;
pub mod peek;
pub mod sse;

// Of the binary, which nothing can link to.
#[allow(dead_code, unexpected_cfgs, unused_imports, reason = "most of it is for the binary")]
#[path = "../../../crates/plimsoll/src/flags/mod.rs"]
mod flags;
#[allow(dead_code, unexpected_cfgs, reason = "most of it is for the binary")]
#[path = "../../../crates/plimsoll/src/upstream.rs"]
mod upstream;
