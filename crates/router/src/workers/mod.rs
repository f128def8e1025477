//! The workers, and how one is chosen.

mod health;
mod models;
mod policy;
mod worker;

pub use self::worker::{AttemptResult, Worker};
pub(crate) use self::{
    health::probe,
    models::Model,
    policy::{Policy, RoundRobin},
    worker::Attempt,
};
