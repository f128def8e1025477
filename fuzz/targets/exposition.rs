//! See `fuzz_checks::exposition`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz_checks::exposition::check(bytes));
