//! libFuzzer's entry to [`ringway_fuzz::announcement`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringway_fuzz::announcement(data));
