//! Learns from the request what it asks for, where nobody below says so.
//!
//! The meter knows a request's model, and that a stream was asked for, from whoever below reads the
//! request: the router does, and [`AmendLayer`](crate::AmendLayer) for what it amends. Without those
//! it has only the answer to go by, and an error names no model. [`PeekLayer`] looks at the request's
//! body as it passes. It changes no byte, holds none back, and keeps a bounded number of them until
//! the body's end. The layer goes below the meter.

mod body;
mod layer;
mod service;

pub use self::{body::PeekedBody, layer::PeekLayer, service::Peek};
