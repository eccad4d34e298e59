//! libFuzzer's entry to [`ringway_fuzz::journal`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringway_fuzz::journal(data));
