//! The limits of copying inside one machine, each with its reason.

/// Threads a copy may have: beyond that they wait for each other on any machine.
pub const WORKERS_MAX: usize = 256;

/// Files with several names that a copy keeps in mind until it has met all of these, at some 200
/// bytes each: a gibibyte. Names beyond that are copied as files of their own, as those of a file
/// that cannot be linked are.
pub const LINKED_FILES_MAX: usize = 1 << 22;

/// Requests in flight on one ring.
pub const DEPTH_MAX: u32 = ringway_sys::file_io::DEPTH_MAX;

/// Bytes of one read or write, at least: a page.
pub const CHUNK_MIN: usize = 4096;

/// Bytes of one read or write, at most: one buffer of it a thread.
pub const CHUNK_MAX: usize = 64 * 1024 * 1024;

/// Descriptors that a copy needs at the least: one thread with a file, its folder at both ends, and
/// the way back up.
pub const DESCRIPTORS_MIN: usize = 32;
