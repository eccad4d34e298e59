//! Owns what a thread has of its own that a process usually shares: the umask.

use std::io;

use rustix::fs::Mode;
use rustix::thread::UnshareFlags;

/// From here on the calling thread makes files under exactly the mode it says: it gets a umask of its own (unshare(2), CLONE_FS), and that is
/// 0 (umask(2)). Other threads keep theirs; working directory and root are the thread's own from here on as well.
///
/// # Errors
/// `EPERM` where a container's filter forbids unshare(2); nothing has changed then.
pub fn own_umask() -> io::Result<()> {
    // SAFETY: of what unshare(2) can take apart only the table of descriptors is a matter of memory safety, and that stays shared.
    unsafe { rustix::thread::unshare_unsafe(UnshareFlags::FS) }?;
    rustix::process::umask(Mode::empty());
    Ok(())
}
