//! See `fuzz_checks::answer`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz_checks::answer::check(bytes));
