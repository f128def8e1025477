//! The workers, and how one is chosen.

mod address;
mod health;
mod models;
mod policy;
mod worker;

pub(crate) use self::{
    address::Address,
    health::probe,
    models::Model,
    policy::{Policy, RoundRobin},
    worker::Attempt,
};
pub use self::{
    address::AddressError,
    worker::{AttemptResult, Worker},
};
