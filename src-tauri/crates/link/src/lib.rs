//! Ringway's connections: TLS and the key at the other end, control messages and sessions, lanes in
//! kernel and userspace, retry, the rate limit, and the clocks by which the bottleneck is found.
//! The engine decides which device to reach and what to send, and owns every store.
#![forbid(unsafe_code)]

pub mod bottleneck;
pub mod kernel_tls;
pub mod key;
pub mod lane;
pub mod limits;
pub mod messages;
pub mod rate_limit;
pub mod record_boundary;
pub mod retry;
pub mod session;
pub mod tls;
