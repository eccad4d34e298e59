//! The limits of copying inside one machine, each with its reason.

/// The most threads of a copy. Beyond that they wait for each other on any machine.
pub const WORKERS_MAX: usize = 256;

/// Files with several names that a copy remembers until it has met all names, at about 200 bytes
/// each: a gibibyte. Names beyond that are copied as separate files, like those of a file that
/// cannot be linked.
pub const LINKED_FILES_MAX: usize = 1 << 22;

/// Requests in flight on one ring.
pub const DEPTH_MAX: u32 = ringway_sys::file_io::DEPTH_MAX;

/// The fewest bytes of one read or write: a page.
pub const CHUNK_MIN: usize = 4096;

/// The most bytes of one read or write; each thread has one buffer of it.
pub const CHUNK_MAX: usize = 64 * 1024 * 1024;

/// The descriptors that a copy needs at least: for one thread with a file, its folder at both ends,
/// and the way back up.
pub const DESCRIPTORS_MIN: usize = 32;
