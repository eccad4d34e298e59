//! Owns what is known of standard output before `main`: the standard library opens `/dev/null` in
//! the place of a closed one, so that it cannot be told later.
use std::sync::atomic::{AtomicBool, Ordering};

/// Standard output was closed when the program was started.
static WAS_CLOSED: AtomicBool = AtomicBool::new(false);

extern "C" fn look() {
    // SAFETY: the call reads flags of a number and has no other effect, whatever that number is.
    let flags = unsafe { libc::fcntl(libc::STDOUT_FILENO, libc::F_GETFD) };
    WAS_CLOSED.store(flags < 0, Ordering::Relaxed);
}

/// Called by the C library before `main`, and so before the standard library looks at descriptors.
// SAFETY: the section is an array of functions of this type (ELF gABI, "Initialization and
// Termination Functions"). The function touches nothing that is not initialised by then.
#[used]
#[unsafe(link_section = ".init_array")]
static LOOK: extern "C" fn() = look;

/// Whether standard output was closed when the program was started.
pub fn was_closed() -> bool {
    WAS_CLOSED.load(Ordering::Relaxed)
}
