//! libFuzzer's entry to [`ringway_fuzz::lane_stream`].
#![no_main]

libfuzzer_sys::fuzz_target!(|data: &[u8]| ringway_fuzz::lane_stream(data));
