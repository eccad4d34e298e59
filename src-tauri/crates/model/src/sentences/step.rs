//! The next step after an error of the system's, of faults and of entries alike.
use super::Row;
use super::table::*;
use crate::fault::errno::{EACCES, EDQUOT, EIO, EMFILE, ENAMETOOLONG, ENOENT, ENOSPC, ENOTDIR, EPERM, EROFS};

/// The next step after an error of the system's with an obvious one.
pub(super) fn step_after(errno: i32) -> Option<Row> {
    Some(match errno {
        ENOENT => PATH_NOT_FOUND,
        EPERM | EACCES => PATH_DENIED,
        ENOSPC | EDQUOT => PATH_FULL,
        EROFS => PATH_READ_ONLY,
        ENOTDIR => PATH_NOT_A_FOLDER,
        ENAMETOOLONG => PATH_NAME_TOO_LONG,
        EMFILE => PATH_TOO_MANY_OPEN,
        EIO => PATH_DISK,
        _ => return None,
    })
}
