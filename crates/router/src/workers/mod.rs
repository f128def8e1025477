//! The workers: where they are, whether they serve, what they have under way.

mod address;
mod attempt;
mod breaker;
mod health;
mod models;
mod worker;

pub use self::{
    address::{Address, AddressError},
    attempt::AttemptResult,
    breaker::{BreakerConfig, BreakerState},
    worker::Worker,
};
pub(crate) use self::{
    attempt::{Attempt, Place},
    health::probe,
    models::Model,
};
