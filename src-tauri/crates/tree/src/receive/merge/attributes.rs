//! Gives files and folders the sender's mode, time, owner and extended attributes, in an order that
//! keeps each.
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::disk::Dir;
use ringway_sys::attributes::{Metadata, Timestamp, has_xattrs, is_not_kept, metadata_of, portable_xattrs};
use ringway_sys::space::space;
use ringway_wire::RelPath;
use ringway_wire::lane::{Acl, AclKind, Attributes, Entry, Xattrs};
use rustix::io::Errno;

use crate::receive::allowance::Quota;
use crate::receive::failures::is;
use crate::receive::merge::folder_records::FolderRecord;
use crate::receive::merge::owners::OwnerMap;
use crate::receive::root::Root;
use crate::receive::staging::inheritance::Inheritance;
use crate::receive::staging::{now, read_only_folders};
use crate::receive::{FILLING_FILE_MODE, OWNER_WRITES, PERMISSION_BITS};

/// What is free where a disk is not full: many times what all attributes of a file can be together
/// (XATTR_SIZE_MAX is 64 KiB).
const ATTRIBUTES_ROOM: u64 = 1024 * 1024;

/// setuid and setgid.
const SET_ID_BITS: u16 = 0o6000;

/// What the owning group may do.
const GROUP_BITS: u32 = 0o070;
const GROUP_SHIFT: u32 = 3;

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

/// Who may write to a folder may not remove others' entries in it.
const STICKY: u32 = 0o1000;

/// Which mode a folder gets.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::receive) enum Dress {
    /// The sender's: this transfer made it, or the receiver said so.
    Made,
    /// None that lets in anybody who could not get in before.
    Existing,
}

/// The mode of a folder that existed, where the sender wants another one: only fewer permissions;
/// what restricts stays, and so does the group's inheritance.
fn narrowed(there: u32, wanted: u32) -> u32 {
    (there & wanted & PERMISSION_BITS) | (there & !PERMISSION_BITS) | (wanted & STICKY)
}

/// Which attributes are taken over from the sender.
pub(in crate::receive) struct AttributePolicy {
    /// Owner and group are kept.
    pub(in crate::receive) keep_owner: bool,
    /// Which users and groups the sender's are here. Entries are mapped as they come, and access
    /// control lists as they are set.
    pub(in crate::receive) owners: OwnerMap,
    /// setuid and setgid are kept.
    pub(in crate::receive) keep_setuid: bool,
    /// Existing folders and files with several names take the sender's mode also where that lets
    /// more people in.
    pub(in crate::receive) widen_modes: bool,
    /// Access control lists are kept.
    pub(in crate::receive) keep_acls: bool,
    /// Entries that did not get theirs.
    pub(in crate::receive) acls_lost: AtomicU64,
    /// The staging folder passes a list on to all that is made in it.
    pub(in crate::receive) passes_list: bool,
    /// Permission bits that files lose when they are created in the staging folder.
    pub(in crate::receive) files_masked: u32,
    pub(in crate::receive) root: Arc<Root>,
    pub(in crate::receive) quota: Arc<Quota>,
}

impl AttributePolicy {
    /// The mode that an entry with a list is to have here. The sender's mode has the list's mask in
    /// place of what the owning group may do. Without the list that would let in the group.
    pub(in crate::receive) fn mode_of(&self, attributes: &Attributes, xattrs: Xattrs<'_>) -> u32 {
        let mode = self.final_mode(attributes);
        match xattrs.acl(AclKind::Access) {
            Some(acl) if !self.keep_acls => without_acl(mode, acl),
            _ => mode,
        }
    }

    /// Sets an entry's list, where lists are kept. Returns the mode that goes with what it then
    /// has.
    ///
    /// The list comes before the mode: it lets nobody in beyond the mode that follows, and that
    /// mode's permissions of the group are the list's mask.
    fn set_acl(&self, fd: BorrowedFd<'_>, attributes: &Attributes, xattrs: Xattrs<'_>) -> (u32, io::Result<()>) {
        let mode = self.final_mode(attributes);
        let Some(acl) = xattrs.acl(AclKind::Access) else { return (mode, Ok(())) };
        match self.set_one_acl(fd, AclKind::Access, acl) {
            Ok(true) => (mode, Ok(())),
            Ok(false) => {
                self.note_lost_acl();
                (without_acl(mode, acl), Ok(()))
            }
            Err(error) => (without_acl(mode, acl), Err(error)),
        }
    }

    /// Sets one list; false where lists are not kept, or it is not possible here.
    fn set_one_acl(&self, fd: BorrowedFd<'_>, kind: AclKind, acl: Acl<'_>) -> io::Result<bool> {
        if !self.keep_acls {
            return Ok(false);
        }
        let mapped = self.owners.local_acl(acl);
        let bytes = mapped.as_deref().unwrap_or(acl.as_bytes());
        self.quota.take(bytes.len() as u64).map_err(io::Error::other)?;
        match self.root.disk().set_xattr(fd, kind.name(), bytes) {
            Ok(()) => Ok(true),
            Err(error) if is_not_kept(&error, fd) => Ok(false),
            Err(error) => Err(error),
        }
    }

    fn remove_one_acl(&self, fd: BorrowedFd<'_>, kind: AclKind) -> io::Result<()> {
        match kind {
            AclKind::Access => self.root.disk().remove_acl(fd),
            AclKind::Default => self.root.disk().remove_default_acl(fd),
        }
    }

    /// What is to be set of a folder at the end.
    pub(in crate::receive) fn record<'a>(
        &self,
        staged: bool,
        attributes: Attributes,
        xattrs: Xattrs<'a>,
        path: RelPath<'a>,
    ) -> FolderRecord<'a> {
        let acls = AclKind::ALL.map(|kind| xattrs.acl(kind));
        if self.keep_acls {
            return FolderRecord { staged, attributes, acls, lost_acl: false, path };
        }
        let lost_acl = acls.iter().any(Option::is_some);
        let mode = acls[0].map_or(attributes.mode, |acl| without_acl(attributes.mode.into(), acl) as u16);
        FolderRecord { staged, attributes: Attributes { mode, ..attributes }, acls: [None; 2], lost_acl, path }
    }

    /// Gives a file that was made in the staging folder what its own folder passes on, or takes
    /// what the staging folder did: a group, and a list. Where lists are kept, a file has the
    /// sender's list or none. True if the mode is to be set anew.
    ///
    /// A group that this user is not in cannot be given: then the file has this user's own.
    fn pass_on(&self, fd: BorrowedFd<'_>, inherits: Option<&Inheritance>) -> (bool, io::Result<()>) {
        let disk = self.root.disk();
        if let Some(Inheritance { group, .. }) = inherits
            && !self.keep_owner
        {
            let own = rustix::process::getegid().as_raw();
            if disk.set_group(fd, group.unwrap_or(own)).is_err() {
                let _ = disk.set_group(fd, own);
            }
        }
        let list = inherits.and_then(|inherits| inherits.list.as_deref()).filter(|_| !self.keep_acls);
        let is_changed = inherits.is_some() || (self.keep_acls && self.passes_list);
        let listed = match list {
            Some(list) => disk.set_xattr(fd, AclKind::Access.name(), list),
            None if is_changed => disk.remove_acl(fd),
            None => Ok(()),
        };
        (is_changed, listed)
    }

    /// Whether a folder has exactly that list already.
    fn has_acl(&self, dir: &Dir, kind: AclKind, acl: Acl<'_>) -> bool {
        let mapped = self.owners.local_acl(acl);
        let wanted = mapped.as_deref().unwrap_or(acl.as_bytes());
        let acls = portable_xattrs(dir.as_fd()).unwrap_or_default();
        acls.iter().any(|(name, value)| name == kind.name() && value == wanted)
    }

    fn note_lost_acl(&self) {
        self.acls_lost.fetch_add(1, Ordering::Relaxed);
    }

    /// Sets extended attributes, which count as contents do; the first refusal is returned after
    /// all were tried.
    pub(in crate::receive) fn set_xattrs(&self, fd: impl AsFd, xattrs: Xattrs<'_>) -> io::Result<()> {
        let set = |(name, value): (&[u8], &[u8])| {
            // The caller's report finds that the transfer is at its end.
            self.quota.take((name.len() + value.len()) as u64).map_err(io::Error::other)?;
            self.root.disk().set_xattr(fd.as_fd(), name, value).map_err(|error| of_its_own(fd.as_fd(), error))
        };
        xattrs.iter().map(set).fold(Ok(()), io::Result::and)
    }

    /// The mode that an entry is to have here.
    pub(in crate::receive) fn final_mode(&self, attributes: &Attributes) -> u32 {
        let dropped = if self.keep_setuid { 0 } else { SET_ID_BITS };
        u32::from(attributes.mode & !dropped)
    }

    /// The mode to create a file with. Where that comes out as the final one, a call for every file
    /// is saved; nobody else can look into the staging folder meanwhile.
    pub(in crate::receive) fn creation_mode(&self, attributes: &Attributes) -> CreationMode {
        let mode = self.final_mode(attributes);
        if mode & !PERMISSION_BITS == 0 && mode & self.files_masked == 0 && mode & OWNER_WRITES != 0 {
            CreationMode::Exactly(mode)
        } else {
            CreationMode::Provisional
        }
    }

    /// Sets what an open file or folder has besides contents. Everything is tried; the first
    /// refusal is returned.
    ///
    /// The owner comes before the mode, as chown(2) drops setuid; the time comes last; extended
    /// attributes and lists come before a mode that may forbid them.
    pub(in crate::receive) fn set_attributes(
        &self,
        fd: impl AsFd,
        created: CreationMode,
        attributes: &Attributes,
        xattrs: Xattrs<'_>,
        inherits: Option<&Inheritance>,
    ) -> io::Result<()> {
        let fd = fd.as_fd();
        let extended = self.set_xattrs(fd, xattrs);
        let owned =
            if self.keep_owner { self.root.disk().set_owner(fd, attributes.uid, attributes.gid) } else { Ok(()) };
        let (is_changed, passed) = self.pass_on(fd, inherits);
        let (mode, listed) = self.set_acl(fd, attributes, xattrs);
        let is_right = created == CreationMode::Exactly(mode) && !is_changed;
        let moded = if is_right { Ok(()) } else { self.root.disk().set_mode(fd, mode) };
        let timed = self.set_time(fd, timestamp(attributes.mtime));
        extended.and(owned).and(passed).and(listed).and(moded).and(timed)
    }

    /// Sets what a symbolic link has: owner and time. Linux gives it no mode and no `user.`
    /// attributes.
    pub(in crate::receive) fn set_link_attributes(
        &self,
        dir: &Dir,
        name: &[u8],
        attributes: &Attributes,
    ) -> io::Result<()> {
        let owned = if self.keep_owner { dir.set_owner(name, attributes.uid, attributes.gid) } else { Ok(()) };
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
        self.root.disk().set_times(fd.as_fd(), self.root.filesystem.is_fuse().then(now), mtime)
    }

    pub(in crate::receive) fn touch_up_file(&self, file: &OwnedFd, entry: &Entry<'_>) -> io::Result<()> {
        let attributes = &entry.attributes;
        // By its descriptor: its name may lead to another one by now.
        let there = metadata_of(file)?;
        if there.nlink > 1 && !self.widen_modes {
            return Ok(());
        }
        let owner_differs = self.keep_owner && (there.uid, there.gid) != (attributes.uid, attributes.gid);
        let extended = self.set_xattrs(file, entry.xattrs);
        let owned = if owner_differs {
            self.root.disk().set_owner(file.as_fd(), attributes.uid, attributes.gid)
        } else {
            Ok(())
        };
        let (mode, listed) = self.set_acl(file.as_fd(), attributes, entry.xattrs);
        let has_acl = entry.xattrs.acl(AclKind::Access).is_some();
        let moded = if owner_differs || has_acl || there.mode != mode {
            self.root.disk().set_mode(file.as_fd(), mode)
        } else {
            Ok(())
        };
        extended.and(owned).and(listed).and(moded)
    }

    /// Whether a file that may not be opened is this user's own and of this name alone: its mode is
    /// about to be set, so that the owner's read permission is no more than a step on the way.
    pub(in crate::receive) fn may_open_own(&self, there: &Metadata) -> bool {
        there.uid == rustix::process::geteuid().as_raw() && (there.nlink == 1 || self.widen_modes)
    }

    /// Gives a folder its owner, lists, mode and time, leaving alone what is right already: it may
    /// be somebody else's. A folder that existed keeps its lists.
    pub(in crate::receive) fn dress(&self, dir: &Dir, folder: &FolderRecord<'_>, dress: Dress) -> io::Result<()> {
        let attributes = &folder.attributes;
        let there = metadata_of(dir)?;
        if self.root.own.lie_in(&there) {
            // Its mode decides who reaches our key, and whether we do.
            return Ok(());
        }
        let before = read_only_folders::mode_of(&there);
        let mode = match (self.final_mode(attributes), dress) {
            (mode, Dress::Made) => mode,
            (mode, Dress::Existing) => narrowed(before, mode),
        };
        // Before the mode, by which the next attempt knows a folder that has not got all this yet.
        let mtime = timestamp(attributes.mtime);
        let timed = if there.mtime == mtime { Ok(()) } else { self.set_time(dir, mtime) };
        let owner_differs = self.keep_owner && (there.uid, there.gid) != (attributes.uid, attributes.gid);
        let owned = if owner_differs {
            self.root.disk().set_owner(dir.as_fd(), attributes.uid, attributes.gid)
        } else {
            Ok(())
        };
        let acls = || folder.acls.iter().zip(AclKind::ALL).filter_map(|(acl, kind)| Some((kind, (*acl)?)));
        // The mode that a list was sent with is the list's mask, and its group's without it.
        let (mut mode, mut listed, mut is_lost) = (mode, Ok(()), folder.lost_acl);
        for (kind, acl) in acls() {
            let kept = match dress {
                Dress::Made => self.set_one_acl(dir.as_fd(), kind, acl),
                Dress::Existing => Ok(self.has_acl(dir, kind, acl)),
            };
            let is_kept = matches!(kept, Ok(true));
            if kind == AclKind::Access && !is_kept {
                mode = without_acl(mode, acl);
            }
            is_lost |= matches!(kept, Ok(false));
            listed = listed.and(kept.map(drop));
        }
        if is_lost {
            self.note_lost_acl();
        }
        // What the sender's has no list of was given one by the folder above it.
        let takes_lists = self.keep_acls && dress == Dress::Made;
        let has_inherited = takes_lists && folder.acls.iter().any(Option::is_none) && has_xattrs(dir)?;
        for (kind, acl) in AclKind::ALL.into_iter().zip(&folder.acls) {
            if has_inherited && acl.is_none() {
                listed = listed.and(self.remove_one_acl(dir.as_fd(), kind));
            }
        }
        let has_acls = has_inherited || (acls().next().is_some() && dress == Dress::Made);
        let moded = if owner_differs || has_acls || before != mode {
            read_only_folders::set_mode_of(dir, &there, mode)
        } else {
            Ok(())
        };
        owned.and(listed).and(moded).and(timed)
    }
}

/// A mode without its list: the group's permissions are what the list gave the owning group.
fn without_acl(mode: u32, acl: Acl<'_>) -> u32 {
    (mode & !GROUP_BITS) | (mode & (u32::from(acl.of_group()) << GROUP_SHIFT))
}
