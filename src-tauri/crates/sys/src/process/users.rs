//! Owns queries of the system's user database, which may include directory servers (getpwuid_r(3)).

use std::ffi::{CStr, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;

/// The most bytes that one entry of the database may take.
const ENTRY_BYTES_MAX: usize = 1 << 20;

/// The home of the user with this number in the user database; `None` if the database has no such
/// user, or cannot be read.
pub fn home_of(uid: u32) -> Option<PathBuf> {
    let mut buffer = vec![0_u8; 1024];
    loop {
        // SAFETY: `passwd` is plain integers and pointers, for which all zeroes is a value.
        let mut entry: libc::passwd = unsafe { std::mem::zeroed() };
        let mut found = std::ptr::null_mut();
        // SAFETY: all pointers are to live values, exclusively borrowed over the call, and the
        // length is the buffer's.
        let error =
            unsafe { libc::getpwuid_r(uid, &raw mut entry, buffer.as_mut_ptr().cast(), buffer.len(), &raw mut found) };
        if error == libc::ERANGE && buffer.len() < ENTRY_BYTES_MAX {
            buffer.resize(buffer.len() * 4, 0);
            continue;
        }
        if error != 0 || found.is_null() || entry.pw_dir.is_null() {
            return None;
        }
        // SAFETY: the entry was found, so that `pw_dir` is a string with its NUL in `buffer`, which
        // is alive and not changed meanwhile.
        let home = unsafe { CStr::from_ptr(entry.pw_dir) };
        return Some(PathBuf::from(OsStr::from_bytes(home.to_bytes())));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn root_has_a_home_and_an_unknown_user_has_none() {
        assert!(home_of(0).is_some_and(|home| home.is_absolute()));
        assert_eq!(home_of(u32::MAX - 1), None);
    }
}
