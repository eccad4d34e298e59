//! Tells whether a program has a file open for writing.

use std::os::fd::{AsFd, AsRawFd};

use rustix::io::Errno;

/// Which signal tells the holder of a lease (fcntl(2)); libc lacks it.
const F_SETSIG: libc::c_int = 10;

/// Whether somebody has a file open for writing that is open for reading here, by asking for a
/// lease (fcntl(2), F_SETLEASE) and giving it back. False where that cannot be told: the file is
/// another user's, or its filesystem grants no leases.
pub fn has_writers(file: impl AsFd) -> bool {
    let set = |operation: libc::c_int, argument: libc::c_int| {
        // SAFETY: the descriptor is open during the call, and none of these calls takes a pointer.
        match unsafe { libc::fcntl(file.as_fd().as_raw_fd(), operation, argument) } {
            -1 => Err(std::io::Error::last_os_error()),
            _ => Ok(()),
        }
    };
    // Who opens the file while it is leased has the kernel signal its holder. SIGIO would end this
    // program. SIGURG is ignored unless somebody has asked for it.
    if set(F_SETSIG, libc::SIGURG).is_err() {
        return false;
    }
    match set(libc::F_SETLEASE, libc::F_RDLCK) {
        Ok(()) => {
            // If this fails, the lease ends with the descriptor.
            let _ = set(libc::F_SETLEASE, libc::F_UNLCK);
            false
        }
        Err(error) => error.raw_os_error() == Some(Errno::AGAIN.raw_os_error()),
    }
}
