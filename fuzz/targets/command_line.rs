//! See `fuzz_checks::command_line`.

#![no_main]

libfuzzer_sys::fuzz_target!(|bytes: &[u8]| fuzz_checks::command_line::check(bytes));
