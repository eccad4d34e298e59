//! Reads a part of a shared file, on a thread that can read nothing but the share.
use std::os::fd::AsFd;

use ringway_sys::attributes::{Metadata, metadata_of};
use ringway_sys::file_io::read_at;
use ringway_tree::filesystem::browse::open_file;
use ringway_wire::RelPath;
use ringway_wire::control::{BytesPage, FileState, NoAnswer, RangeWanted};
use ringway_wire::lane::Timestamp;
use ringway_wire::limits::RANGE_PAGE_BYTES_MAX;
use rustix::io::Errno;

use super::looking::{confine, unanswered};
use crate::shared::OpenedShare;

/// Hands out the pages of a part of a file, but for the last one, which it returns. `page` returns
/// whether more are wanted. With `confines`, the calling thread reaches nothing but the share from
/// now on, and should have no other use.
///
/// # Errors
/// Why there is no answer: `EINVAL` for a part that begins behind the end of the file.
pub(super) fn read(
    share: &OpenedShare,
    wanted: &RangeWanted,
    confines: bool,
    mut page: impl FnMut(BytesPage) -> bool,
) -> Result<BytesPage, NoAnswer> {
    confine(&share.root, confines)?;
    let hides = |there: &Metadata| share.own.has(there) || share.own.hang_on(there);
    let failed = unanswered;
    let kernel = |error: std::io::Error| failed(Errno::from_io_error(&error).unwrap_or(Errno::IO));
    // The codec has checked it.
    let path = RelPath::new(&wanted.path).map_err(|_| failed(Errno::INVAL))?;
    let (file, there) = open_file(&share.root, path, &hides).map_err(failed)?.ok_or(failed(Errno::NOENT))?;
    if wanted.offset > there.size {
        return Err(failed(Errno::INVAL));
    }
    let (mut at, mut left) = (wanted.offset, wanted.len as usize);
    loop {
        let mut bytes = vec![0; left.min(RANGE_PAGE_BYTES_MAX)];
        let read = read_at(file.as_fd(), at, &mut bytes).map_err(kernel)?;
        let is_at_end = read < bytes.len();
        bytes.truncate(read);
        (at, left) = (at + read as u64, left - read);
        if left == 0 || is_at_end {
            let Metadata { size, mtime, .. } = metadata_of(&file).map_err(kernel)?;
            let mtime = Timestamp { secs: mtime.secs, nanos: mtime.nanos };
            return Ok(BytesPage::last(bytes, FileState { size, mtime }));
        }
        if !page(BytesPage::more(bytes)) {
            // Nobody hears it.
            return Err(NoAnswer::Busy);
        }
    }
}
