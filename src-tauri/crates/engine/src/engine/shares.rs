//! Sharing folders with paired devices.
use std::path::Path;

use ringway_model::{DropBox, Fault, Invalid, Operation, Share, ShareName, SharedWith};
use ringway_sys::attributes::metadata_of;
use ringway_sys::dir::Dir;
use ringway_sys::space;
use ringway_tree::receive::is_home;
use rustix::io::Errno;

use super::Engine;
use crate::devices::target::Target;
use crate::local::own_folders;
use crate::send::browse::Browser;
use crate::shared::is_writable;
use crate::store::SharedFolder;

impl Engine {
    /// The shared folders, by name, and which of them cannot be read now. It may wait for a disk.
    ///
    /// # Errors
    /// The store cannot be read.
    pub fn shares(&self) -> Result<Vec<Share>, Fault> {
        self.shared.shares()
    }

    /// Shares a folder under a name with some paired devices. The same folder under the same name
    /// is shared with these devices instead of those before, and stays a drop box if it is one.
    /// With `allow_home` it may be a home folder, or contain one.
    ///
    /// # Errors
    /// A folder that cannot be opened, that is Ringway's own, or a home that is not allowed; a name
    /// that another folder has; a device that is not paired.
    pub fn share(&self, folder: &Path, name: &ShareName, with: &SharedWith, allow_home: bool) -> Result<(), Fault> {
        self.share_by(folder, name, with, None, allow_home)
    }

    /// The same, and says whether these devices may also send into it. A drop box cannot be a home
    /// folder or contain one.
    ///
    /// # Errors
    /// As [`share`](Self::share); [`Invalid::DropInHome`], [`Invalid::DropNotWritable`]; a size
    /// that is none.
    pub fn share_as(
        &self,
        folder: &Path,
        name: &ShareName,
        with: &SharedWith,
        drop: Option<DropBox>,
        allow_home: bool,
    ) -> Result<(), Fault> {
        self.share_by(folder, name, with, Some(drop), allow_home)
    }

    fn share_by(
        &self,
        folder: &Path,
        name: &ShareName,
        with: &SharedWith,
        drop: Option<Option<DropBox>>,
        allow_home: bool,
    ) -> Result<(), Fault> {
        let at = |source| Fault::path(folder, Operation::Open, source);
        let folder = std::path::absolute(folder).map_err(at)?;
        let dir = self.look_at(&folder).map_err(at)?;
        if space::shows_the_kernel(&dir).map_err(at)? {
            return Err(at(std::io::ErrorKind::Unsupported.into()));
        }
        if own_folders::make(&self.shared.paths)?.contain(&dir).map_err(at)? {
            return Err(Fault::Invalid(Invalid::SharedOwnFolder { folder: folder.into() }));
        }
        let drops = match drop {
            Some(drop) => drop,
            None => self.shared.store.share(name)?.and_then(|before| before.drop),
        };
        drops.map_or(Ok(()), |drop| drop.check())?;
        match shows_a_home(&dir).map_err(at)? {
            true if drops.is_some() => return Err(Fault::Invalid(Invalid::DropInHome { folder: folder.into() })),
            true if !allow_home => return Err(Fault::Invalid(Invalid::SharedHomeFolder { folder: folder.into() })),
            _ => {}
        }
        if drops.is_some() && !is_writable(&dir) {
            return Err(Fault::Invalid(Invalid::DropNotWritable { folder: folder.into() }));
        }
        let mut shared = SharedFolder::of(&folder, &dir).map_err(at)?;
        // The same folder by another path, as through a link or by way of `..`, stays the same
        // share, if its first path still leads there.
        if let Some(before) = self.shared.store.share(name)?.map(|before| before.shared)
            && before.identity.is_some()
            && before.identity == shared.identity
            && let Ok(there) = Dir::open(&before.folder)
            && SharedFolder::of(&before.folder, &there).is_ok_and(|there| there == before)
        {
            shared = before;
        }
        self.shared.store.add_share(name, &shared, with, drop)?;
        self.shared.changes.changed();
        Ok(())
    }

    /// Makes a share a drop box, into which its devices may also send, another one, or none. What
    /// is sent into it ends where it is none from then on, as by [`unshare`](Self::unshare).
    ///
    /// # Errors
    /// [`Invalid::UnknownShare`], [`Invalid::DropInHome`], [`Invalid::DropNotWritable`]; a size
    /// that is none.
    pub fn set_drop(&self, name: &ShareName, drop: Option<DropBox>) -> Result<(), Fault> {
        let unknown = || Fault::Invalid(Invalid::UnknownShare { name: name.as_str().into() });
        drop.map_or(Ok(()), |drop| drop.check())?;
        let folder = self.shared.store.share(name)?.ok_or_else(unknown)?.shared.folder;
        // What is not there now is looked at when something is to land in it.
        if drop.is_some()
            && let Ok(dir) = self.look_at(&folder)
        {
            if shows_a_home(&dir).unwrap_or(false) {
                return Err(Fault::Invalid(Invalid::DropInHome { folder: folder.into() }));
            }
            if !is_writable(&dir) {
                return Err(Fault::Invalid(Invalid::DropNotWritable { folder: folder.into() }));
            }
        }
        if !self.shared.store.set_drop(name, drop)? {
            return Err(unknown());
        }
        self.shared.changes.changed();
        Ok(())
    }

    /// Opens a folder whose filesystem may not answer.
    fn look_at(&self, folder: &Path) -> std::io::Result<Dir> {
        let path = folder.to_owned();
        let looked = self.shared.looks.look(folder, move || Dir::open(&path)).flatten();
        // As the kernel says it, so that people read why.
        looked.map_err(|error| match error.kind() {
            std::io::ErrorKind::TimedOut => Errno::TIMEDOUT.into(),
            _ => error,
        })
    }

    /// Has other devices read a share than before.
    ///
    /// # Errors
    /// [`Invalid::UnknownShare`], [`Invalid::UnknownDevice`]; the store cannot be written.
    pub fn set_readers(&self, name: &ShareName, with: &SharedWith) -> Result<(), Fault> {
        let unknown = || Fault::Invalid(Invalid::UnknownShare { name: name.as_str().into() });
        let share = self.shared.store.share(name)?.ok_or_else(unknown)?;
        self.shared.store.add_share(&share.name, &share.shared, with, None)?;
        self.shared.changes.changed();
        Ok(())
    }

    /// Connects to a paired device to browse its shares.
    ///
    /// # Errors
    /// It cannot be reached, is not who it was, or is not paired.
    pub async fn browse(&self, target: &Target) -> Result<Browser, Fault> {
        Browser::open(&self.shared, target).await
    }

    /// Shares a folder no longer. What reads it in this program ends at once, and in another
    /// program of this device within
    /// [`FORGOTTEN_LOOK_EVERY`](crate::limits::FORGOTTEN_LOOK_EVERY).
    ///
    /// # Errors
    /// [`Invalid::UnknownShare`]; the store cannot be written.
    pub fn unshare(&self, name: &ShareName) -> Result<(), Fault> {
        if !self.shared.store.remove_share(name)? {
            return Err(Fault::Invalid(Invalid::UnknownShare { name: name.as_str().into() }));
        }
        self.shared.changes.changed();
        Ok(())
    }
}

/// Whether a folder is somebody's home, or has this user's beneath it.
fn shows_a_home(folder: &Dir) -> std::io::Result<bool> {
    let there = metadata_of(folder)?;
    let home = std::env::home_dir().and_then(|home| home.canonicalize().ok());
    let is_this = |above: &Path| {
        let above = Dir::open_to_search(above).and_then(metadata_of);
        above.is_ok_and(|above| (above.dev, above.ino) == (there.dev, there.ino))
    };
    Ok(is_home(&there) || home.is_some_and(|home| home.ancestors().any(is_this)))
}
