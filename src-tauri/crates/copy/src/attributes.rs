//! Gives a copy its owner, extended attributes, mode and times, in an order in which no step undoes
//! another (chown(2) drops setuid).
use std::io;
use std::os::fd::AsFd;

use ringway_sys::attributes::{self as sys, Kind, Metadata, XattrsCopied};
use ringway_sys::dir::Dir;
use rustix::io::Errno;

/// Bits that a change of the owner may clear (chown(2)).
const OWNER_BITS: u32 = 0o7000;

/// Set-user-ID and set-group-ID, which mean something else with another owner. Like cp, the copy
/// leaves them out if it could not set the owner. Sticky keeps others from removing entries of a
/// folder, whatever its owner.
const SET_ID_BITS: u32 = 0o6000;

/// What the owning group may do.
const GROUP_BITS: u32 = 0o070;
const GROUP_SHIFT: u32 = 3;

/// Permissions of files and folders that do not have their final owner yet.
pub(crate) const PRIVATE: u32 = 0o700;

/// What a copy could not keep.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Lost {
    /// Entries with another owner or group than the source.
    pub(crate) owners: u64,
    /// Entries without some access control list or extended attribute of the source.
    pub(crate) attributes: u64,
}

impl std::ops::AddAssign for Lost {
    fn add_assign(&mut self, other: Self) {
        self.owners += other.owners;
        self.attributes += other.attributes;
    }
}

/// What is known of a new file's attributes, so that calls without effect are left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fresh {
    /// It was created with exactly the source's mode and owner.
    Exact,
    /// Anything else.
    Unknown,
}

/// Gives the open file `target` everything from `source` except its contents.
pub(crate) fn of_file(
    source: impl AsFd,
    target: impl AsFd,
    metadata: &Metadata,
    fresh: Fresh,
    strip_acl: bool,
) -> io::Result<Lost> {
    let (source, target) = (source.as_fd(), target.as_fd());
    let mut lost = Lost::default();
    let with_xattrs = sys::has_xattrs(source)?;
    let mut mode = metadata.mode;
    if fresh == Fresh::Unknown {
        let now = sys::metadata_of(target)?;
        mode = owner_of_open(target, &now, metadata, &mut lost)?;
        if strip_acl {
            sys::remove_acl(target)?;
        }
        // Even if the mode is equal: chown has dropped setuid, and an inherited list has changed
        // the group's permissions.
        if mode != now.mode || mode & OWNER_BITS != 0 || strip_acl {
            sys::set_mode(target, mode)?;
        }
    }
    if with_xattrs {
        lost += xattrs_of_open(source, target, mode)?;
    }
    sys::set_times_both(target, metadata.atime, metadata.mtime)?;
    Ok(lost)
}

/// Gives a folder all attributes of its source, once nothing more is added to it.
pub(crate) fn of_folder(source: &Dir, target: &Dir, metadata: &Metadata) -> io::Result<Lost> {
    let listed = target.open_to_list()?;
    let target = listed.as_ref().unwrap_or(target);
    let mut lost = Lost::default();
    let now = sys::metadata_of(target)?;
    let mode = owner_of_open(target, &now, metadata, &mut lost)?;
    if sys::has_xattrs(target)? {
        sys::remove_acl(target)?;
        sys::remove_default_acl(target)?;
    }
    sys::set_mode(target, mode)?;
    if sys::has_xattrs(source)? {
        lost += xattrs_of_open(source, target, mode)?;
    }
    sys::set_times_both(target, metadata.atime, metadata.mtime)?;
    Ok(lost)
}

/// The same for a folder whose source cannot be opened, without the extended attributes, which
/// cannot be read.
pub(crate) fn of_closed_folder(target: &Dir, metadata: &Metadata) -> io::Result<Lost> {
    let listed = target.open_to_list()?;
    let target = listed.as_ref().unwrap_or(target);
    let mut lost = Lost::default();
    let mode = owner_of_open(target, &sys::metadata_of(target)?, metadata, &mut lost)?;
    // The attributes that it inherited are not its source's.
    if sys::has_xattrs(target)? {
        sys::remove_acl(target)?;
        sys::remove_default_acl(target)?;
    }
    sys::set_mode(target, mode)?;
    sys::set_times_both(target, metadata.atime, metadata.mtime)?;
    Ok(lost)
}

/// The same for entries that are not opened: symbolic links and special files.
pub(crate) fn of_name(
    source: (&Dir, &[u8]),
    target: (&Dir, &[u8]),
    metadata: &Metadata,
    strip_acl: bool,
) -> io::Result<Lost> {
    let mut lost = Lost::default();
    let (dir, name) = target;
    let now = dir.metadata(name)?;
    let mode = owner(&now, metadata, &mut lost, |uid, gid| match uid {
        Some(uid) => dir.set_owner(name, uid, gid),
        None => dir.set_group(name, gid),
    })?;
    // A link has neither mode nor list. A special file was created with its mode, unless the umask,
    // an inherited list or the change of owner removed a part of it.
    if now.kind != Kind::Symlink {
        if strip_acl {
            sys::remove_acl_at(dir, name)?;
        }
        if mode != now.mode || mode & OWNER_BITS != 0 || strip_acl {
            dir.set_mode(name, mode)?;
        }
    }
    let copied = sys::copy_xattrs_at(source.0, source.1, dir, name)?;
    if let Some(group) = copied.group_of_lost_list {
        dir.set_mode(name, without_list(mode, group))?;
    }
    lost += xattrs(copied);
    dir.set_times_both(name, metadata.atime, metadata.mtime)?;
    Ok(lost)
}

/// [`owner`] of an open file.
fn owner_of_open(target: impl AsFd, now: &Metadata, wanted: &Metadata, lost: &mut Lost) -> io::Result<u32> {
    owner(now, wanted, lost, |uid, gid| match uid {
        Some(uid) => sys::set_owner_fd(&target, uid, gid),
        None => sys::set_group_fd(&target, gid),
    })
}

/// Sets owner and group if they differ, or the group alone if only that is permitted. Returns the
/// mode that may be set then.
fn owner(
    now: &Metadata,
    wanted: &Metadata,
    lost: &mut Lost,
    set: impl Fn(Option<u32>, u32) -> io::Result<()>,
) -> io::Result<u32> {
    if (now.uid, now.gid) == (wanted.uid, wanted.gid) {
        return Ok(wanted.mode);
    }
    match set(Some(wanted.uid), wanted.gid) {
        Ok(()) => Ok(wanted.mode),
        Err(error) if not_permitted(&error) => {
            let _ = set(None, wanted.gid);
            lost.owners += 1;
            Ok(wanted.mode & !if wanted.kind == Kind::File { OWNER_BITS } else { SET_ID_BITS })
        }
        Err(error) => Err(error),
    }
}

/// The process is not root, this mount or user namespace cannot express the ids (EINVAL,
/// EOVERFLOW), or there are no owners at all (ENOSYS, EOPNOTSUPP).
fn not_permitted(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::PERM | Errno::ACCESS | Errno::INVAL | Errno::OVERFLOW | Errno::NOSYS | Errno::OPNOTSUPP)
    )
}

/// Copies extended attributes to an open file that has `mode`. Where its list is lost, the owning
/// group gets what the list gave it, and not the list's mask.
fn xattrs_of_open(source: impl AsFd, target: impl AsFd, mode: u32) -> io::Result<Lost> {
    let copied = sys::copy_xattrs(source, &target)?;
    if let Some(group) = copied.group_of_lost_list {
        sys::set_mode(&target, without_list(mode, group))?;
    }
    Ok(xattrs(copied))
}

fn without_list(mode: u32, group: u32) -> u32 {
    mode & (!GROUP_BITS | group << GROUP_SHIFT)
}

fn xattrs(copied: XattrsCopied) -> Lost {
    Lost { owners: 0, attributes: u64::from(copied.lost > 0) }
}
