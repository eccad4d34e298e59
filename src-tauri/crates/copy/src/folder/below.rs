//! Paths below a folder that is open.
use std::io;

use ringway_sys::dir::{Beneath, Dir, beneath};

/// Longest path that one openat2 takes (PATH_MAX, with its NUL).
const PATH_BYTES_MAX: usize = 4095;

/// A path's folder and its last name.
pub(crate) fn split(path: &[u8]) -> (&[u8], &[u8]) {
    match path.iter().rposition(|byte| *byte == b'/') {
        Some(slash) => (&path[..slash], &path[slash + 1..]),
        None => path.split_at(0),
    }
}

/// Opens a folder of any depth. A folder that may not be listed is opened for searching.
pub(crate) fn open_below(top: &Dir, path: &[u8]) -> io::Result<Dir> {
    match path.len() {
        0 => top.try_clone(),
        1..=PATH_BYTES_MAX => top.open_beneath_to_search(path, beneath()),
        _ => top.open_beneath_to_search(path, Beneath::Walk),
    }
}
