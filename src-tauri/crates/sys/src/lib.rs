//! The kernel boundary: every unsafe block of Ringway, and each fast path with its named fallback.
//! Callers decide how to use them.
//!
//! Everything here takes descriptors by [`AsFd`](std::os::fd::AsFd) and returns `io::Result`, or an
//! `Option` or enum where the kernel or the filesystem lacks the feature. Nothing here knows a
//! peer, a transfer or a policy.

#[cfg(not(target_os = "linux"))]
compile_error!("Ringway runs on Linux only");

mod fs;
mod io;
mod net;
pub mod probe;
mod process;

use fs::metadata;
pub use fs::{advice, attributes, confine, contents, dir, mounts, space, sparse, writers};
use io::ring;
pub use io::{file_io, stream};
pub use net::{ktls, resolve, socket};
pub use process::{heap, instructions, output, thread, users};
