//! See `fuzz_checks::page`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz_checks::page::check(bytes));
