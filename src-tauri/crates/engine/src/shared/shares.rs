//! The folders that are shared, as a paired device meets them: opened, or why not, and until when
//! it may read.
use std::io;
use std::path::Path;
use std::sync::Arc;

use ringway_model::{Consent, DeviceId, Fault, Share, ShareName, ShareThere, ShareTrouble};
use ringway_sys::dir::Dir;
use ringway_sys::mounts::mount_point;
use ringway_tree::descriptors::{Shortage, wait_to_open};
use ringway_tree::receive::{FolderIdentity, OwnFolders};
use rustix::fs::{Access, AtFlags, accessat};
use rustix::io::Errno;

use super::Shared;
use super::looks::{Look, Looks};
use crate::limits::{LOOK_TIME_MAX, LOOKS_AT_ONCE_MAX};
use crate::local::own_folders;
use crate::local::places::lacks_mount;
use crate::store::{Pairing, ShareNumber, SharedFolder, StoredShare};

/// A share that a device may read, open for that.
#[derive(Debug)]
pub(crate) struct OpenedShare {
    /// Its folder: nothing is opened but beneath it.
    pub(crate) root: Dir,
    /// Ringway's own folders, which may lie in it and are never shown.
    pub(crate) own: OwnFolders,
    /// Until when it may be read.
    pub(crate) grant: Grant,
}

/// The right of one pairing with a device to read one share, or to send into it. It ends with the
/// share, the pairing, or the device's name in the share's list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Grant {
    pub(super) share: ShareNumber,
    pub(super) pairing: Pairing,
    pub(super) right: Right,
}

/// Whether this user may write into a shared folder, or why it is unavailable; none if there was no
/// descriptor to find out.
type State = Result<bool, Option<ShareTrouble>>;

/// What a grant allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Right {
    Read,
    /// It also ends when the share is no drop box any more, or the device's rule is to refuse.
    Drop,
}

impl Shared {
    /// Opens a share for a device. It may wait for a disk.
    ///
    /// # Errors
    /// [`Fault::NotShared`] for a device that is not paired, a share that does not exist, and one
    /// that the device may not read: nobody learns which. [`Fault::ShareUnavailable`] for a folder
    /// that is not what was shared.
    pub(crate) fn open_share(&self, device: DeviceId, name: &ShareName) -> Result<OpenedShare, Fault> {
        let not_shared = || Fault::NotShared { share: name.as_str().into() };
        // First: a device that is forgotten from now on has another pairing.
        let pairing = self.store.pairing(device)?;
        let share = self.store.share(name)?.ok_or_else(not_shared)?;
        let grant = Grant { share: share.number, pairing, right: Right::Read };
        if !self.holds(&grant)? {
            return Err(not_shared());
        }
        let unavailable = |trouble| Fault::ShareUnavailable { share: share.name.as_str().into(), trouble };
        let root = open(&self.looks, &share.shared).map_err(|why| why.map_or(Fault::AnswerBusy, unavailable))?;
        let own = own_folders::make(&self.paths)?;
        // A link on its path may lead elsewhere since.
        if own.contain(&root).unwrap_or(true) {
            return Err(unavailable(ShareTrouble::Failed));
        }
        Ok(OpenedShare { root, own, grant })
    }

    /// Whether that right is in force.
    pub(crate) fn holds(&self, grant: &Grant) -> Result<bool, Fault> {
        match grant.right {
            Right::Read => self.store.may_read(grant.share, grant.pairing),
            Right::Drop => self.store.may_drop(grant.share, grant.pairing),
        }
    }

    /// Whether what a device offers is refused by its rule.
    pub(crate) fn is_refused(&self, device: DeviceId) -> bool {
        let known = self.store.by_id(device).ok().flatten();
        known.is_some_and(|device| device.rule.consent == Consent::Refuse)
    }

    /// Resolves when that right has ended, whichever program ended it.
    pub(crate) async fn revoked(self: &Arc<Self>, grant: Grant) {
        let mut changes = self.follow_changes();
        // A store that cannot be read now is read at its next change.
        while self.holds(&grant).unwrap_or(true) {
            if changes.changed().await.is_err() {
                return std::future::pending().await;
            }
        }
    }

    /// Resolves when the filesystem of a share does not answer.
    pub(crate) async fn hangs(self: &Arc<Self>, name: ShareName) {
        loop {
            tokio::time::sleep(LOOK_TIME_MAX).await;
            let (shared, name) = (Arc::clone(self), name.clone());
            let hangs = move || {
                let share = shared.store.share(&name).ok().flatten();
                let opened = share.map(|share| open(&shared.looks, &share.shared).map(drop));
                opened == Some(Err(Some(ShareTrouble::NotAnswering)))
            };
            if tokio::task::spawn_blocking(hangs).await.unwrap_or(false) {
                return;
            }
        }
    }

    /// The shares that a device may read, by name. It may wait for a disk.
    pub(crate) fn shares_of(&self, device: DeviceId) -> Result<Vec<ShareThere>, Fault> {
        let pairing = self.store.pairing(device)?;
        let mut all = Vec::new();
        for share in self.store.shares()? {
            let grant = |right| Grant { share: share.number, pairing, right };
            if self.holds(&grant(Right::Read))? {
                let drop = self.holds(&grant(Right::Drop))?;
                all.push((drop, share));
            }
        }
        let states = self.states(all.iter().map(|(_, share)| &share.shared));
        let shown = |((drop, share), state): ((bool, StoredShare), State)| {
            let (unavailable, drop_trouble) = match state {
                Ok(is_writable) => (None, (drop && !is_writable).then_some(ShareTrouble::NotWritable)),
                Err(why) => (Some(why.ok_or(Fault::AnswerBusy)?), None),
            };
            Ok(ShareThere { name: share.name, drop, unavailable, drop_trouble })
        };
        all.into_iter().zip(states).map(shown).collect()
    }

    /// Every share, by name. It may wait for a disk.
    pub(crate) fn shares(&self) -> Result<Vec<Share>, Fault> {
        let all = self.store.shares()?;
        let states = self.states(all.iter().map(|share| &share.shared));
        let shown = |(share, state): (StoredShare, State)| {
            let StoredShare { name, shared, with, drop, .. } = share;
            let is_closed = drop.is_some() && state == Ok(false);
            Share {
                name,
                folder: shared.folder.into(),
                with,
                drop,
                unavailable: state.err().map(|why| why.unwrap_or(ShareTrouble::Failed)),
                drop_trouble: is_closed.then_some(ShareTrouble::NotWritable),
            }
        };
        Ok(all.into_iter().zip(states).map(shown).collect())
    }

    /// The state of each of these folders. Those that do not answer are waited for together.
    fn states<'a>(&self, all: impl Iterator<Item = &'a SharedFolder>) -> Vec<State> {
        let all: Vec<_> = all.collect();
        let mut states = Vec::with_capacity(all.len());
        for some in all.chunks(LOOKS_AT_ONCE_MAX) {
            let looks: Vec<_> = some.iter().map(|shared| (*shared, begin(&self.looks, shared))).collect();
            states.extend(looks.into_iter().map(|(shared, look)| {
                let found = match look.and_then(Look::wait).flatten() {
                    Err(error) if error.is_of_descriptors() => open(&self.looks, shared),
                    looked => found(looked),
                };
                found.map(|dir| is_writable(&dir))
            }));
        }
        states
    }
}

/// Opens the folder that was shared, and no other one that has its path. Where no descriptor is
/// left, it waits for one.
///
/// # Errors
/// Why it is unavailable; none if there was no descriptor or thread, which is no fault of the
/// folder.
pub(super) fn open(looks: &Arc<Looks>, shared: &SharedFolder) -> Result<Dir, Option<ShareTrouble>> {
    found(wait_to_open(|| true, || begin(looks, shared).and_then(Look::wait).flatten()))
}

/// Begins to open it, on a thread that may get no answer.
fn begin(looks: &Arc<Looks>, shared: &SharedFolder) -> io::Result<Look<io::Result<Result<Dir, ShareTrouble>>>> {
    let noted = shared.clone();
    looks.begin(&shared.folder, move || match Dir::open(&noted.folder) {
        Err(error) if error.is_of_descriptors() => Err(error),
        opened => Ok(checked(&noted, opened)),
    })
}

/// What a look at a share has found.
fn found(looked: io::Result<Result<Dir, ShareTrouble>>) -> Result<Dir, Option<ShareTrouble>> {
    match looked {
        Ok(found) => found.map_err(Some),
        Err(error) if error.kind() == io::ErrorKind::TimedOut => Err(Some(ShareTrouble::NotAnswering)),
        Err(_) => Err(None),
    }
}

/// Whether this user may make entries in a folder. One about which the kernel says nothing else
/// counts as such.
pub(crate) fn is_writable(dir: &Dir) -> bool {
    let asked = accessat(dir, c".", Access::WRITE_OK | Access::EXEC_OK, AtFlags::EACCESS);
    !matches!(asked, Err(Errno::ACCESS | Errno::PERM | Errno::ROFS))
}

/// Whether what has the path is what was shared.
fn checked(shared: &SharedFolder, opened: io::Result<Dir>) -> Result<Dir, ShareTrouble> {
    use io::ErrorKind::{NotADirectory, NotFound, PermissionDenied, TimedOut};
    let SharedFolder { folder, identity, mounted } = shared;
    // A link on the path may lead to another filesystem while the disk is mounted.
    let is_unmounted = |dir: &Dir| mounted.as_deref().is_some_and(|at| lacks_mount(dir, at) && !is_mounted(at));
    let root = opened.map_err(|error| match error.kind() {
        NotFound | NotADirectory if nearest(folder).is_some_and(|above| is_unmounted(&above)) => {
            ShareTrouble::NotMounted
        }
        NotFound => ShareTrouble::Missing,
        NotADirectory => ShareTrouble::Replaced,
        PermissionDenied => ShareTrouble::NotReadable,
        // NFS that is mounted softly says so itself.
        TimedOut => ShareTrouble::NotAnswering,
        _ => ShareTrouble::Failed,
    })?;
    if is_unmounted(&root) {
        return Err(ShareTrouble::NotMounted);
    }
    let before = identity.as_ref().ok_or(ShareTrouble::Failed)?;
    match FolderIdentity::of(&root) {
        // Its names may be readable where its entries are not.
        Ok(now) if now.is_still(before) => match root.entries() {
            Err(error) if error.kind() == PermissionDenied => Err(ShareTrouble::NotReadable),
            _ => Ok(root),
        },
        Ok(_) => Err(ShareTrouble::Replaced),
        Err(_) => Err(ShareTrouble::Failed),
    }
}

/// Whether a filesystem is mounted there.
fn is_mounted(at: &Path) -> bool {
    Dir::open(at).and_then(|dir| mount_point(&dir)).is_ok_and(|now| now == at)
}

/// The nearest folder above that is there.
fn nearest(folder: &Path) -> Option<Dir> {
    folder.ancestors().skip(1).find_map(|above| Dir::open(above).ok())
}

impl SharedFolder {
    /// A folder as it is now, and where its disk is mounted.
    pub(crate) fn of(folder: &Path, dir: &Dir) -> std::io::Result<Self> {
        let identity = Some(FolderIdentity::of(dir)?);
        Ok(Self { folder: folder.to_owned(), identity, mounted: mount_point(dir).ok() })
    }
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    fn open(shared: &SharedFolder) -> Result<Dir, Option<ShareTrouble>> {
        super::open(&Arc::default(), shared)
    }

    fn shared(folder: &Path) -> SharedFolder {
        SharedFolder::of(folder, &Dir::open(folder).unwrap()).unwrap()
    }

    #[test]
    fn a_folder_that_is_gone_or_replaced_is_unavailable_until_it_is_back() {
        let base = tempfile::tempdir().unwrap();
        let (runs, aside) = (base.path().join("runs"), base.path().join("aside"));
        fs::create_dir(&runs).unwrap();
        let noted = shared(&runs);
        assert!(open(&noted).is_ok());
        fs::rename(&runs, &aside).unwrap();
        assert_eq!(open(&noted).unwrap_err(), Some(ShareTrouble::Missing));
        fs::create_dir(&runs).unwrap();
        assert_eq!(open(&noted).unwrap_err(), Some(ShareTrouble::Replaced));
        fs::remove_dir(&runs).unwrap();
        fs::write(&runs, "").unwrap();
        assert_eq!(open(&noted).unwrap_err(), Some(ShareTrouble::Replaced));
        fs::remove_file(&runs).unwrap();
        symlink(&aside, &runs).unwrap();
        assert!(open(&noted).is_ok(), "the same folder by another way");
        // The disk is mounted, and the path leads elsewhere.
        fs::remove_file(&runs).unwrap();
        symlink(base.path(), &runs).unwrap();
        let mounted = SharedFolder { mounted: Some("/proc".into()), ..shared(&runs) };
        let mounted = SharedFolder { identity: noted.identity, ..mounted };
        assert_eq!(open(&mounted).unwrap_err(), Some(ShareTrouble::Replaced));
        fs::remove_file(&runs).unwrap();
        fs::rename(&aside, &runs).unwrap();
        assert!(open(&noted).is_ok(), "it is back");
    }

    #[test]
    fn a_folder_whose_disk_is_not_mounted_is_unavailable() {
        let base = tempfile::tempdir().unwrap();
        let runs = base.path().join("runs");
        fs::create_dir(&runs).unwrap();
        let noted = shared(&runs);
        if noted.mounted.is_none() {
            return println!("skipped: this kernel does not tell mounts");
        }
        let elsewhere = SharedFolder { mounted: Some(base.path().to_owned()), ..noted };
        assert_eq!(open(&elsewhere).unwrap_err(), Some(ShareTrouble::NotMounted));
        fs::remove_dir(&runs).unwrap();
        assert_eq!(open(&elsewhere).unwrap_err(), Some(ShareTrouble::NotMounted));
    }

    #[test]
    fn a_folder_whose_entries_may_not_be_looked_at_is_not_readable() {
        if rustix::process::geteuid().is_root() {
            return println!("skipped: root may look at everything");
        }
        let base = tempfile::tempdir().unwrap();
        let noted = shared(base.path());
        let allow = |mode| fs::set_permissions(base.path(), fs::Permissions::from_mode(mode)).unwrap();
        allow(0o400);
        assert_eq!(open(&noted).unwrap_err(), Some(ShareTrouble::NotReadable));
        allow(0o700);
        assert!(open(&noted).is_ok());
    }
}
