//! Looks for the entries of a shared folder, on a thread that can read nothing but the share.
use ringway_model::ShareTrouble;
use ringway_sys::attributes::Metadata;
use ringway_sys::confine::thread_reads_beneath;
use ringway_sys::dir::Dir;
use ringway_tree::descriptors::{Shortage, wait_to_open};
use ringway_tree::filesystem::browse::{Found, Listing, NAMES_BYTES_MAX, look_at, open_folder};
use ringway_wire::RelPath;
use ringway_wire::control::{EntriesWanted, NoAnswer};
use ringway_wire::entries::{Depth, EntriesPage, EntriesWriter, FolderEntry};
use ringway_wire::lane::Timestamp;
use rustix::io::Errno;
use rustix::time::{ClockId, clock_gettime};

use crate::shared::OpenedShare;
use crate::wire_convert::encode_entry;

/// Hands out the pages of what is at a path, but for the last one, which it returns. `page` returns
/// whether more are wanted, and `is_wanted` tells that while there is nothing to hand out. With
/// `confines`, the calling thread reaches nothing but the share from now on, and should have no
/// other use.
///
/// # Errors
/// Why there is no answer.
pub(super) fn look(
    share: &OpenedShare,
    wanted: &EntriesWanted,
    confines: bool,
    is_wanted: &dyn Fn() -> bool,
    mut page: impl FnMut(EntriesPage) -> bool,
) -> Result<EntriesPage, NoAnswer> {
    confine(&share.root, confines)?;
    // What is Ringway's own is not there for anybody.
    let hides = |there: &Metadata| share.own.has(there) || share.own.hang_on(there);
    let failed = unanswered;
    // The codec has checked it.
    let path = RelPath::new(&wanted.path).map_err(|_| failed(Errno::INVAL))?;
    let mut writer = EntriesWriter::beginning(now());
    let has_changed = |there: &Metadata| {
        wanted.changed_since.is_none_or(|since| (there.ctime.secs, there.ctime.nanos) >= (since.secs, since.nanos))
    };
    let folder = match wanted.depth {
        Depth::Itself => None,
        Depth::Folder | Depth::Tree => match open_folder(&share.root, path, &hides) {
            Ok(folder) => Some(folder.ok_or(failed(Errno::NOENT))?),
            // A file, or a link: it is listed itself.
            Err(Errno::NOTDIR | Errno::LOOP) => None,
            Err(errno) => return Err(failed(errno)),
        },
    };
    let Some(folder) = folder else {
        let found = look_at(&share.root, path, &hides).map_err(failed)?;
        let (there, target) = found.ok_or(failed(Errno::NOENT))?;
        if has_changed(&there) {
            let what = Ok(encode_entry(&there, &target));
            writer.push(&FolderEntry { path: RelPath::ROOT, what });
        }
        return Ok(writer.page(true));
    };
    let is_tree = wanted.depth == Depth::Tree;
    let listing = Listing { folder: &folder, is_tree, hides: &hides, names_bytes_max: NAMES_BYTES_MAX };
    let (mut goes_on, mut has_begun) = (true, false);
    let shown = |Found { path, what, target }: Found<'_>| {
        if what.is_ok_and(|there| !has_changed(&there)) {
            goes_on = is_wanted();
            return goes_on;
        }
        let what = what.map(|there| encode_entry(&there, target)).map_err(Errno::raw_os_error);
        if let Some(full) = writer.push(&FolderEntry { path, what }) {
            (goes_on, has_begun) = (page(full), true);
        }
        goes_on
    };
    match listing.run(shown) {
        // Who has heard a part of the answer cannot just ask again.
        Err(errno) if has_begun => return Err(NoAnswer::Path(errno.raw_os_error())),
        ended => ended.map_err(failed)?,
    }
    match goes_on {
        true => Ok(writer.page(true)),
        // Nobody hears it.
        false => Err(NoAnswer::Busy),
    }
}

/// Confines the calling thread to a share, if that is possible here.
pub(super) fn confine(root: &Dir, confines: bool) -> Result<(), NoAnswer> {
    if !confines {
        return Ok(());
    }
    wait_to_open(|| true, || thread_reads_beneath(root)).map_err(|error| match error.is_of_descriptors() {
        true => NoAnswer::Busy,
        false => NoAnswer::Unavailable(ShareTrouble::Failed),
    })
}

/// Why there is no answer about a path. What this program lacks is no fault of the path.
pub(super) fn unanswered(errno: Errno) -> NoAnswer {
    if errno.is_of_descriptors() { NoAnswer::Busy } else { NoAnswer::Path(errno.raw_os_error()) }
}

/// The time by the clock from which the kernel takes the times of what changes from now on.
fn now() -> Timestamp {
    let now = clock_gettime(ClockId::RealtimeCoarse);
    Timestamp { secs: now.tv_sec, nanos: now.tv_nsec as u32 }
}
