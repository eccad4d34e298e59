//! Ringway's connections: TLS and the key at the other end, control messages and sessions, lanes in
//! kernel and userspace, retry, the rate limit, and the clocks that tell the bottleneck. Whom to
//! reach, what to send and every store are left to the engine.
#![forbid(unsafe_code)]

pub mod bottleneck;
pub mod kernel_tls;
pub mod key;
pub mod lane;
pub mod limits;
pub mod messages;
pub mod rate_limit;
mod record_boundary;
pub mod retry;
pub mod session;
pub mod tls;
