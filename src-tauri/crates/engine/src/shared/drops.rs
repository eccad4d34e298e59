//! Drop boxes: the place in a share where a paired device's offer lands, opened without leaving the
//! share, and until when it may.
use std::ffi::OsString;
use std::io;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;

use ringway_model::{DropBox, Fault, Operation, PathText, ShareName, ShareTrouble, Side};
use ringway_sys::attributes::metadata_of;
use ringway_sys::dir::Dir;
use ringway_sys::space;
use ringway_tree::filesystem::own_names::reads_as_own;
use ringway_tree::receive::{Homes, OwnFolders, is_attempt};
use ringway_wire::RelPath;
use ringway_wire::control::{GetRefusal, InShare};
use ringway_wire::limits::PATH_MAX;
use rustix::io::Errno;

use super::Shared;
use super::shares::{Grant, Right, open};
use crate::local::own_folders;
use crate::store::{Pairing, SharedFolder};
use crate::wire_convert::errno_of;

/// The mode of folders that are made on the way, less the umask.
const FOLDER_MODE: u32 = 0o777;

/// The place in a drop box where an offer is to land.
#[derive(Debug, Clone)]
pub(crate) struct DropPlace {
    /// The drop box.
    pub(crate) name: ShareName,
    /// What it takes.
    pub(crate) drop: DropBox,
    /// Until when.
    pub(crate) grant: Grant,
    shared: SharedFolder,
    /// Beneath the share; its sender has chosen it.
    path: Vec<u8>,
}

impl DropPlace {
    /// Its folder, as it is shown.
    pub(crate) fn folder(&self) -> PathBuf {
        match self.path.as_slice() {
            [] => self.shared.folder.clone(),
            path => self.shared.folder.join(OsString::from_vec(path.to_vec())),
        }
    }

    /// What tells it from all other places. A folder that is shared anew is another one.
    pub(crate) fn key(&self) -> Vec<u8> {
        [&self.grant.share.to_bytes()[..], &self.path].concat()
    }

    /// `SHARE/PATH`, as it is shown.
    pub(crate) fn shown(&self) -> PathText {
        let parts = [self.name.as_str().as_bytes(), &self.path];
        let parts: Vec<_> = parts.into_iter().filter(|part| !part.is_empty()).collect();
        OsString::from_vec(parts.join(&b'/')).into()
    }

    /// Why nothing can land there, as a fault of this device.
    pub(crate) fn fault(&self, refusal: GetRefusal) -> Fault {
        let unopened = |folder, errno| Fault::path(folder, Operation::Open, io::Error::from_raw_os_error(errno));
        let share = || self.shared.folder.clone();
        match refusal {
            GetRefusal::Unavailable(ShareTrouble::Missing) => unopened(share(), Errno::NOENT.raw_os_error()),
            GetRefusal::Unavailable(ShareTrouble::NotReadable) => unopened(share(), Errno::ACCESS.raw_os_error()),
            GetRefusal::Unavailable(ShareTrouble::NotAnswering) => unopened(share(), Errno::TIMEDOUT.raw_os_error()),
            GetRefusal::Unavailable(_) => Fault::DestinationGone,
            GetRefusal::Path(_, errno) => unopened(self.folder(), errno),
            _ => Fault::NoLongerShared { by: Side::Here },
        }
    }
}

impl Shared {
    /// The place that a device's offer names, which need not be there yet. It may wait for a disk.
    ///
    /// # Errors
    /// [`GetRefusal::NoShare`] for a device that is not paired or is refused, a share that does not
    /// exist, one that the device may not read, and one that is no drop box: nobody learns which.
    /// [`GetRefusal::Unavailable`], and [`GetRefusal::Path`] for a path that leads elsewhere.
    pub(crate) fn drop_place(&self, pairing: Pairing, wanted: &InShare) -> Result<DropPlace, GetRefusal> {
        let none = |_: Fault| GetRefusal::NoShare;
        let share = self.store.share(&wanted.share).map_err(none)?.ok_or(GetRefusal::NoShare)?;
        let drop = share.drop.ok_or(GetRefusal::NoShare)?;
        let grant = Grant { share: share.number, pairing, right: Right::Drop };
        let place = DropPlace { name: share.name, drop, grant, shared: share.shared, path: wanted.path.clone() };
        self.open_drop(&place, false).map(|_| place)
    }

    /// Opens a place, as far as the right to it is in force; folders that are missing are made if
    /// that is said. None if it is not there and is not made. It may wait for a disk.
    ///
    /// # Errors
    /// As [`drop_place`](Self::drop_place).
    pub(crate) fn open_drop(&self, place: &DropPlace, make: bool) -> Result<Option<Dir>, GetRefusal> {
        match self.holds(&place.grant) {
            Ok(true) => {}
            _ => return Err(GetRefusal::NoShare),
        }
        let failed = |_: Fault| GetRefusal::Unavailable(ShareTrouble::Failed);
        let no_descriptors = GetRefusal::Path(0, Errno::MFILE.raw_os_error());
        let root =
            open(&self.looks, &place.shared).map_err(|why| why.map_or(no_descriptors, GetRefusal::Unavailable))?;
        let own = own_folders::make(&self.paths).map_err(failed)?;
        // A link on its path may lead elsewhere since.
        if own.contain(&root).unwrap_or(true) {
            return Err(GetRefusal::Unavailable(ShareTrouble::Failed));
        }
        let path = RelPath::new(&place.path).map_err(|_| GetRefusal::Path(0, Errno::INVAL.raw_os_error()))?;
        if place.folder().as_os_str().as_bytes().len() > PATH_MAX {
            return Err(GetRefusal::Path(0, Errno::NAMETOOLONG.raw_os_error()));
        }
        descend(&root, path, &own, &Homes::known, make).map_err(|error| GetRefusal::Path(0, errno_of(&error)))
    }
}

/// Goes down to a folder beneath `root`, through no link.
fn descend(
    root: &Dir,
    path: RelPath<'_>,
    own: &OwnFolders,
    known: &dyn Fn() -> Homes,
    make: bool,
) -> io::Result<Option<Dir>> {
    // Before anything is made.
    if path.components().any(|name| reads_as_own(name.as_bytes())) {
        return Err(Errno::NOENT.into());
    }
    let homes = known();
    let mut at = root.try_clone()?;
    admit(&at, own, &homes)?;
    for name in path.components() {
        let name = name.as_bytes();
        let opened = match at.open_dir_to_search(name) {
            Err(error) if error.kind() == io::ErrorKind::NotFound && make => {
                let made = at.make_dir(name, FOLDER_MODE);
                // Another transfer may have been faster.
                if let Err(error) = &made
                    && error.kind() != io::ErrorKind::AlreadyExists
                {
                    return made.map(|()| None);
                }
                let opened = at.open_dir_to_search(name)?;
                // It may be the home of a user whose home was missing.
                if let Err(error) = admit(&opened, own, &known()) {
                    if made.is_ok() {
                        let _ = at.remove_dir(name);
                    }
                    return Err(error);
                }
                opened
            }
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            opened => opened?,
        };
        admit(&opened, own, &homes)?;
        at = opened;
    }
    // The way there may have been moved out of the share meanwhile: in one step it cannot be.
    let opened = if path.is_root() { root.try_clone()? } else { root.open_beneath(path.as_bytes())? };
    admit(&opened, own, &homes)?;
    Ok(Some(opened))
}

/// Refuses to go into a folder in which nothing that a device has chosen may land: Ringway's own,
/// what an attempt at a transfer has made, a home, and what shows the kernel.
fn admit(folder: &Dir, own: &OwnFolders, homes: &Homes) -> io::Result<()> {
    let there = metadata_of(folder)?;
    if own.has(&there) || is_attempt(folder) {
        return Err(Errno::NOENT.into());
    }
    if homes.clone().and_of([there.uid]).has(&there) {
        return Err(Errno::PERM.into());
    }
    if space::shows_the_kernel(folder)? {
        return Err(Errno::OPNOTSUPP.into());
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::symlink;
    use std::path::Path;

    use super::*;

    fn go(root: &Path, path: &str, make: bool) -> Result<Option<Dir>, i32> {
        let root = Dir::open(root).unwrap();
        let path = RelPath::new(path.as_bytes()).unwrap();
        descend(&root, path, &OwnFolders::default(), &Homes::known, make).map_err(|error| errno_of(&error))
    }

    fn errno(errno: Errno) -> Result<(), i32> {
        Err(errno.raw_os_error())
    }

    #[test]
    fn folders_that_are_missing_are_made_only_if_that_is_said() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().join("root");
        fs::create_dir(&root).unwrap();
        assert!(matches!(go(&root, "a/b/c", false), Ok(None)) && fs::read_dir(&root).unwrap().next().is_none());
        let made = go(&root, "a/b/c", true).unwrap().unwrap();
        let ino = |dir: &Dir| metadata_of(dir).unwrap().ino;
        assert_eq!(ino(&made), ino(&Dir::open(&root.join("a/b/c")).unwrap()));
        assert_eq!(ino(&go(&root, "a/b", false).unwrap().unwrap()), ino(&Dir::open(&root.join("a/b")).unwrap()));
        assert_eq!(ino(&go(&root, "", false).unwrap().unwrap()), ino(&Dir::open(&root).unwrap()));
    }

    #[test]
    fn a_missing_folder_that_is_a_users_home_is_not_made() {
        let base = tempfile::tempdir().unwrap();
        let home = base.path().join("bob");
        let (root, homes) = (Dir::open(base.path()).unwrap(), || Homes::at(&[&home]));
        for path in ["bob", "bob/below"] {
            let path = RelPath::new(path.as_bytes()).unwrap();
            let opened = descend(&root, path, &OwnFolders::default(), &homes, true);
            assert_eq!(opened.map(drop).map_err(|error| errno_of(&error)), errno(Errno::PERM));
            assert!(!home.exists());
        }
    }

    #[test]
    fn nothing_on_the_way_leads_elsewhere() {
        let base = tempfile::tempdir().unwrap();
        let (root, outside) = (base.path().join("root"), base.path().join("outside"));
        fs::create_dir_all(root.join("below")).unwrap();
        fs::create_dir(&outside).unwrap();
        symlink(&outside, root.join("link")).unwrap();
        symlink("below", root.join("inside")).unwrap();
        fs::write(root.join("file"), "").unwrap();
        for (path, why) in [
            ("link", Errno::LOOP),
            ("link/x", Errno::LOOP),
            ("inside", Errno::LOOP),
            ("inside/x", Errno::LOOP),
            ("file", Errno::NOTDIR),
            ("file/x", Errno::NOTDIR),
        ] {
            for make in [false, true] {
                assert_eq!(go(&root, path, make).map(drop), errno(why), "{path}");
            }
        }
        assert!(fs::read_dir(&outside).unwrap().next().is_none());
        assert!(fs::read_dir(root.join("below")).unwrap().next().is_none());
    }

    #[test]
    fn names_of_ours_and_homes_take_nothing() {
        let base = tempfile::tempdir().unwrap();
        let root = base.path().join("root");
        let ours = root.join("ours");
        fs::create_dir_all(&ours).unwrap();
        for name in [".ringway-0123456789abcdef", ".RINGWAY-x/y", "a/.ring\u{200b}way-x"] {
            assert_eq!(go(&root, name, true).map(drop), errno(Errno::NOENT), "{name}");
        }
        let mut own = OwnFolders::default();
        own.add_folder(&ours);
        let dir = Dir::open(&root).unwrap();
        for path in ["ours", "ours/x"] {
            let refused = descend(&dir, RelPath::new(path.as_bytes()).unwrap(), &own, &Homes::known, true);
            assert_eq!(refused.map(drop).map_err(|error| errno_of(&error)), errno(Errno::NOENT), "{path}");
        }
        assert!(fs::read_dir(&ours).unwrap().next().is_none());
        let homes = Homes::at(&[&ours]);
        let refused = admit(&Dir::open(&ours).unwrap(), &OwnFolders::default(), &homes);
        assert_eq!(refused.map_err(|error| errno_of(&error)), errno(Errno::PERM));
        assert_eq!(go(Path::new("/proc"), "", false).map(drop), errno(Errno::OPNOTSUPP));
    }
}
