//! Owns what the allocator does with memory that is free again.

/// The size from which on a block of memory is the kernel's again as soon as it is free, bytes:
/// glibc's default before it adapts itself. Lanes' buffers and tables are larger, entries and
/// messages are not.
#[cfg(target_env = "gnu")]
const LARGE_BLOCK_LEN: libc::c_int = 128 * 1024;

/// From here on the process gives large blocks back when it frees them. glibc raises the size that
/// it takes for large with each one that is freed, up to 32 MiB, and keeps what is smaller in
/// pieces between what is still in use (mallopt(3), M_MMAP_THRESHOLD): 12 MiB of what a peer can
/// make a receiver hold (docs/design/limits.md). Other C libraries do not adapt it.
pub fn return_large_blocks() {
    #[cfg(target_env = "gnu")]
    // SAFETY: mallopt(3) takes the allocator's lock, and a threshold changes no block there is.
    let _ = unsafe { libc::mallopt(libc::M_MMAP_THRESHOLD, LARGE_BLOCK_LEN) };
}
