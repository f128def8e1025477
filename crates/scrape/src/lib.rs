//! Reads engines.
