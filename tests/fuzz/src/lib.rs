//! What the fuzz targets do with their input: plain functions over bytes, so that stable Rust
//! replays the corpus too.
#![forbid(unsafe_code)]

mod announcement;
mod codec;
mod input;
mod journal;
mod lane_stream;
mod pairing;
mod peers;
mod record;
mod seeds;
mod sessions;

pub use announcement::announcement;
pub use codec::codec;
pub use journal::journal;
pub use lane_stream::lane_stream;
pub use pairing::pairing;
pub use record::record;
pub use seeds::seeds;
pub use sessions::{receiver_session, sender_session};

/// A target's body. It panics when something that must always hold does not.
pub type Target = fn(&[u8]);

/// Every target by the name of its corpus folder.
pub const TARGETS: [(&str, Target); 8] = [
    ("announcement", announcement),
    ("codec", codec),
    ("journal", journal),
    ("lane_stream", lane_stream),
    ("pairing", pairing),
    ("receiver_session", receiver_session),
    ("record", record),
    ("sender_session", sender_session),
];
