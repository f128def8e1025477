//! The workers, and how one is chosen.

mod address;
mod health;
mod models;
mod policy;
mod worker;

pub use self::{
    address::{Address, AddressError},
    worker::{AttemptResult, Worker},
};
pub(crate) use self::{
    health::probe,
    models::Model,
    policy::{Policy, RoundRobin},
    worker::Attempt,
};
