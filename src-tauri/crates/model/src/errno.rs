//! The few errno values that the model itself names (errno(3); the same on x86-64 and arm64).
pub(crate) const EIO: i32 = 5;
pub(crate) const EPIPE: i32 = 32;
pub(crate) const EADDRINUSE: i32 = 98;
pub(crate) const ECONNRESET: i32 = 104;
pub(crate) const ETIMEDOUT: i32 = 110;
pub(crate) const EHOSTUNREACH: i32 = 113;
