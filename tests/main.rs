//! The program from outside. Each module shows one theme; `support` runs the real binary.

mod accounting;
mod admin;
mod bodies;
mod chaos;
mod disconnect;
mod embed;
mod faults;
mod headers;
mod heartbeats;
mod hostile;
mod http2;
#[cfg(feature = "kubernetes")]
mod kubernetes;
mod kv;
mod load;
mod models;
mod names;
mod page;
mod pair;
mod policies;
mod process;
mod reference;
mod replay;
mod routes;
mod secrets;
mod slow_client;
mod smg;
mod splits;
mod support;
#[cfg(feature = "tls")]
mod tls;
mod workers;
