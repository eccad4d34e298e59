//! libFuzzer's entry to [`ringway_fuzz::sender_session`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringway_fuzz::sender_session(data));
