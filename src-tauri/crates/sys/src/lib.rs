//! The kernel boundary: every unsafe block of Ringway, each fast path with its named fallback; what
//! to do with them is the engine's business.
//!
//! Everything here takes descriptors by [`AsFd`](std::os::fd::AsFd) and returns `io::Result`, or an
//! `Option` or enum where the kernel or the filesystem lacks the feature. Nothing here knows a
//! peer, a transfer or a policy.

#[cfg(not(target_os = "linux"))]
compile_error!("Ringway runs on Linux only");

pub mod advice;
pub mod attributes;
pub mod confine;
pub mod contents;
pub mod dir;
pub mod file_io;
pub mod heap;
pub mod instructions;
pub mod ktls;
pub mod mounts;
pub mod probe;
pub mod resolve;
mod ring;
pub mod socket;
pub mod space;
pub mod sparse;
pub mod stream;
pub mod thread;
pub mod users;
