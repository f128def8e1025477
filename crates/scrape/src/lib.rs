//! Reads engines' metrics pages and merges their ranks into one true KV-cache reading.

pub mod exposition;
