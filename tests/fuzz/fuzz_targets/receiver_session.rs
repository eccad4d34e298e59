//! libFuzzer's entry to [`ringway_fuzz::receiver_session`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringway_fuzz::receiver_session(data));
