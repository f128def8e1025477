//! See `fuzz_checks::peek`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz_checks::peek::check(bytes));
