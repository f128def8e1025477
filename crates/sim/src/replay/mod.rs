//! A test engine that answers with bytes of the test's choosing, and recorded answers to give it.

mod capture;
mod reply;
mod server;

pub use self::{
    capture::{Capture, CaptureError},
    reply::{Reply, Step},
    server::{Closed, ReplayServer},
};
