//! Owns how the allocator handles freed memory.

/// Blocks of memory from this size on, in bytes, go back to the kernel when they are freed. It is
/// glibc's initial value. Lanes' buffers and tables are larger, entries and messages are not.
#[cfg(target_env = "gnu")]
const LARGE_BLOCK_LEN: libc::c_int = 128 * 1024;

/// From now on the process returns large blocks to the kernel when it frees them. By default glibc
/// raises its threshold for large blocks with each one that is freed, up to 32 MiB, and keeps
/// smaller blocks in fragments between blocks in use (mallopt(3), M_MMAP_THRESHOLD). That was 12
/// MiB of the memory that a peer can make a receiver hold (docs/design/limits.md). Other C
/// libraries do not raise it.
pub fn return_large_blocks() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt(3) takes the allocator's lock, and the threshold changes no existing block.
    let _ = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BLOCK_LEN) };
}
