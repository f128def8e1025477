//! See `fuzz_checks::sse`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz_checks::sse::check(bytes));
