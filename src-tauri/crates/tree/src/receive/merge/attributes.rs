//! Gives files and folders the sender's mode, time, owner and extended attributes, in an order that
//! keeps each.
use std::io;
use std::os::fd::AsFd;

use crate::disk::Dir;
use ringway_sys::attributes::Timestamp;
use ringway_sys::space::space;
use ringway_wire::lane::{Attributes, Xattrs};
use rustix::io::Errno;

use crate::receive::failures::is;
use crate::receive::merge::folders::Folder;
use crate::receive::staging::now;
use crate::receive::{FILLING_FILE_MODE, Incoming, OWNER_WRITES, PERMISSION_BITS};

/// What is free where a disk is not full: many times what all attributes of a file can be together
/// (XATTR_SIZE_MAX is 64 KiB).
const ATTRIBUTES_ROOM: u64 = 1024 * 1024;

/// setuid and setgid.
const SET_ID_BITS: u16 = 0o6000;

/// The mode of a file from its creation on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::receive) enum CreationMode {
    /// Neither umask nor ACL takes anything from it.
    Exactly(u32),
    /// For as long as it is filled.
    Provisional,
}

impl CreationMode {
    /// As open(2) takes it.
    pub(in crate::receive) fn bits(self) -> u32 {
        match self {
            Self::Exactly(mode) => mode,
            Self::Provisional => FILLING_FILE_MODE,
        }
    }
}

/// The wire's time as the kernel's.
pub(in crate::receive) fn timestamp(time: ringway_wire::lane::Timestamp) -> Timestamp {
    Timestamp { secs: time.secs, nanos: time.nanos }
}

/// Some filesystems say that they are full where only the place for a file's attributes is: ext4
/// has a block for all that a file has. Such an attribute is refused for its size, and concerns
/// nobody else.
fn of_its_own(fd: impl AsFd, error: io::Error) -> io::Error {
    let has_room = || space(fd).is_ok_and(|space| space.free_bytes > ATTRIBUTES_ROOM && space.free_inodes != Some(0));
    if is(&error, Errno::NOSPC) && has_room() { Errno::RANGE.into() } else { error }
}

impl Incoming {
    /// Sets extended attributes, which count as contents do; the first refusal is returned after
    /// all were tried.
    pub(in crate::receive) fn set_xattrs(&self, fd: impl AsFd, xattrs: Xattrs<'_>) -> io::Result<()> {
        let set = |(name, value): (&[u8], &[u8])| {
            // Whoever reports it finds that the transfer is at its end.
            self.take((name.len() + value.len()) as u64).map_err(io::Error::other)?;
            self.disk().set_xattr(fd.as_fd(), name, value).map_err(|error| of_its_own(fd.as_fd(), error))
        };
        xattrs.iter().map(set).fold(Ok(()), io::Result::and)
    }

    /// The mode that an entry is to have here.
    pub(in crate::receive) fn final_mode(&self, attributes: &Attributes) -> u32 {
        let dropped = if self.options.keep_setuid { 0 } else { SET_ID_BITS };
        u32::from(attributes.mode & !dropped)
    }

    /// The mode to create a file with. Where that comes out as the final one, a call for every file
    /// is saved; nobody else can look into the staging folder meanwhile.
    pub(in crate::receive) fn creation_mode(&self, attributes: &Attributes) -> CreationMode {
        let mode = self.final_mode(attributes);
        if mode & !PERMISSION_BITS == 0 && mode & self.staging.files_masked == 0 && mode & OWNER_WRITES != 0 {
            CreationMode::Exactly(mode)
        } else {
            CreationMode::Provisional
        }
    }

    /// Sets what an open file or folder has besides contents. Everything is tried; the first
    /// refusal is returned.
    ///
    /// The owner comes before the mode, as chown(2) drops setuid; the time comes last; extended
    /// attributes come before a mode that may forbid them.
    pub(in crate::receive) fn set_attributes(
        &self,
        fd: impl AsFd,
        created: CreationMode,
        attributes: &Attributes,
        xattrs: Xattrs<'_>,
    ) -> io::Result<()> {
        let fd = fd.as_fd();
        let extended = self.set_xattrs(fd, xattrs);
        let owned =
            if self.options.keep_owner { self.disk().set_owner(fd, attributes.uid, attributes.gid) } else { Ok(()) };
        let mode = self.final_mode(attributes);
        let moded = if created == CreationMode::Exactly(mode) { Ok(()) } else { self.disk().set_mode(fd, mode) };
        let timed = self.set_time(fd, timestamp(attributes.mtime));
        extended.and(owned).and(moded).and(timed)
    }

    /// Sets what a symbolic link has: owner and time. Linux gives it no mode and no `user.`
    /// attributes.
    pub(in crate::receive) fn set_link_attributes(
        &self,
        dir: &Dir,
        name: &[u8],
        attributes: &Attributes,
    ) -> io::Result<()> {
        let owned = if self.options.keep_owner { dir.set_owner(name, attributes.uid, attributes.gid) } else { Ok(()) };
        let mtime = timestamp(attributes.mtime);
        let timed = match self.root.filesystem.is_fuse() {
            true => dir.set_times_both(name, now(), mtime),
            false => dir.set_times(name, mtime),
        };
        owned.and(timed)
    }

    /// Sets a modification time. Programs that use libfuse 2 ignore a call that sets it alone, and
    /// report success.
    pub(in crate::receive) fn set_time(&self, fd: impl AsFd, mtime: Timestamp) -> io::Result<()> {
        self.disk().set_times(fd.as_fd(), self.root.filesystem.is_fuse().then(now), mtime)
    }

    /// The same for one that is there already, where that differs: it may be somebody else's.
    pub(in crate::receive) fn touch_up_link(
        &self,
        folder: &Folder,
        name: &[u8],
        attributes: &Attributes,
    ) -> io::Result<()> {
        let there = folder.dir.metadata(name)?;
        let owner_differs = self.options.keep_owner && (there.uid, there.gid) != (attributes.uid, attributes.gid);
        if there.mtime == timestamp(attributes.mtime) && !owner_differs {
            return Ok(());
        }
        if self.is_edited(folder, name, &there) {
            return Ok(());
        }
        // As with a file, another name of it may be the receiver's own.
        if there.nlink > 1 && !self.options.widen_modes {
            return Ok(());
        }
        let is_ours = self.is_ours(folder, name, &there);
        self.set_link_attributes(&folder.dir, name, attributes)?;
        if is_ours && let Ok(now) = folder.dir.metadata(name) {
            self.note_changed(folder, name, &there, &now);
        }
        Ok(())
    }
}
