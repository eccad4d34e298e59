//! Looks for the entries of a shared folder, on a thread that can read nothing but the share.
use ringway_model::ShareTrouble;
use ringway_sys::attributes::Metadata;
use ringway_tree::filesystem::browse::{Found, Listing, NAMES_BYTES_MAX, look_at, open_folder};
use ringway_wire::RelPath;
use ringway_wire::control::{EntriesWanted, NoAnswer};
use ringway_wire::entries::{Depth, EntriesPage, EntriesWriter, FolderEntry};
use rustix::io::Errno;

use crate::shared::OpenedShare;
use crate::wire_convert::encode_entry;

/// Hands out the pages of what is at a path, but for the last one, which it returns. `page` returns
/// whether more are wanted. With `confines`, the calling thread reaches nothing but the share from
/// now on, and should have no other use.
///
/// # Errors
/// Why there is no answer.
pub(super) fn look(
    share: &OpenedShare,
    wanted: &EntriesWanted,
    confines: bool,
    mut page: impl FnMut(EntriesPage) -> bool,
) -> Result<EntriesPage, NoAnswer> {
    if confines && ringway_sys::confine::thread_reads_beneath(&share.root).is_err() {
        return Err(NoAnswer::Unavailable(ShareTrouble::Failed));
    }
    // What is Ringway's own is not there for anybody.
    let hides = |there: &Metadata| share.own.has(there) || share.own.hang_on(there);
    let failed = |errno: Errno| NoAnswer::Path(errno.raw_os_error());
    // The codec has checked it.
    let path = RelPath::new(&wanted.path).map_err(|_| failed(Errno::INVAL))?;
    let mut writer = EntriesWriter::default();
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
        let what = Ok(encode_entry(&there, &target));
        writer.push(&FolderEntry { path: RelPath::ROOT, what });
        return Ok(writer.page(true));
    };
    let is_tree = wanted.depth == Depth::Tree;
    let listing = Listing { folder: &folder, is_tree, hides: &hides, names_bytes_max: NAMES_BYTES_MAX };
    let mut is_wanted = true;
    let shown = |Found { path, what, target }: Found<'_>| {
        let what = what.map(|there| encode_entry(&there, target)).map_err(Errno::raw_os_error);
        if let Some(full) = writer.push(&FolderEntry { path, what }) {
            is_wanted = page(full);
        }
        is_wanted
    };
    listing.run(shown).map_err(failed)?;
    match is_wanted {
        true => Ok(writer.page(true)),
        // Nobody hears it.
        false => Err(NoAnswer::Busy),
    }
}
