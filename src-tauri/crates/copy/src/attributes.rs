//! Giving a copy its owner, extended attributes, mode and times, in the order in which none undoes
//! another (chown(2) drops setuid).
use std::io;
use std::os::fd::AsFd;

use ringway_sys::attributes::{self as sys, Kind, Metadata, XattrsCopied};
use ringway_sys::dir::Dir;
use rustix::io::Errno;

/// Bits that a change of the owner may clear (chown(2)).
const OWNER_BITS: u32 = 0o7000;

/// Set-user-ID and set-group-ID, which mean something else under another owner: cp, too, leaves
/// them out where it could not give the owner. Sticky keeps others from removing entries of a
/// folder, whoever owns it.
const SET_ID_BITS: u32 = 0o6000;

/// Permissions of files and folders while their owner is not theirs yet.
pub(crate) const PRIVATE: u32 = 0o700;

/// What a copy could not keep, as cp -a leaves unsaid.
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

/// What a new file already is, so that nothing is asked for that is so anyway.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fresh {
    /// Made with the very mode and owner of the source.
    Exact,
    /// Anything else.
    Unknown,
}

/// Gives the open file `target` everything that `source` has but its contents.
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
    if fresh == Fresh::Unknown {
        let now = sys::metadata_of(target)?;
        let mode = owner_of_open(target, &now, metadata, &mut lost)?;
        if strip_acl {
            sys::remove_acl(target)?;
        }
        // Even an equal mode: chown has dropped setuid, and an inherited list has changed what the
        // group may.
        if mode != now.mode || mode & OWNER_BITS != 0 || strip_acl {
            sys::set_mode(target, mode)?;
        }
    }
    if with_xattrs {
        lost += xattrs(sys::copy_xattrs(source, target)?);
    }
    sys::set_times_both(target, metadata.atime, metadata.mtime)?;
    Ok(lost)
}

/// Gives a folder everything that its source has, once nothing is added to it any more.
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
        lost += xattrs(sys::copy_xattrs(source, target)?);
    }
    sys::set_times_both(target, metadata.atime, metadata.mtime)?;
    Ok(lost)
}

/// The same for a folder whose source cannot be opened, but for the extended attributes that can
/// then not be read.
pub(crate) fn of_closed_folder(target: &Dir, metadata: &Metadata) -> io::Result<Lost> {
    let listed = target.open_to_list()?;
    let target = listed.as_ref().unwrap_or(target);
    let mut lost = Lost::default();
    let mode = owner_of_open(target, &sys::metadata_of(target)?, metadata, &mut lost)?;
    // What it inherited is none of its source's.
    if sys::has_xattrs(target)? {
        sys::remove_acl(target)?;
        sys::remove_default_acl(target)?;
    }
    sys::set_mode(target, mode)?;
    sys::set_times_both(target, metadata.atime, metadata.mtime)?;
    Ok(lost)
}

/// The same for what is not opened: symbolic links and special files.
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
    // A link has neither mode nor list. A special file was made with its mode, unless the umask, an
    // inherited list or the owner's change took some away.
    if now.kind != Kind::Symlink {
        if strip_acl {
            sys::remove_acl_at(dir, name)?;
        }
        if mode != now.mode || mode & OWNER_BITS != 0 || strip_acl {
            dir.set_mode(name, mode)?;
        }
    }
    lost += xattrs(sys::copy_xattrs_at(source.0, source.1, dir, name)?);
    dir.set_times_both(name, metadata.atime, metadata.mtime)?;
    Ok(lost)
}

/// [`owner`] of what is open.
fn owner_of_open(target: impl AsFd, now: &Metadata, wanted: &Metadata, lost: &mut Lost) -> io::Result<u32> {
    owner(now, wanted, lost, |uid, gid| match uid {
        Some(uid) => sys::set_owner_fd(&target, uid, gid),
        None => sys::set_group_fd(&target, gid),
    })
}

/// Gives owner and group where they differ, the group alone where only that is permitted; the mode
/// that may be set then.
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

/// Not root; or ids that this mount or user namespace cannot express (EINVAL, EOVERFLOW), or no
/// owners at all (ENOSYS, EOPNOTSUPP).
fn not_permitted(error: &io::Error) -> bool {
    matches!(
        Errno::from_io_error(error),
        Some(Errno::PERM | Errno::ACCESS | Errno::INVAL | Errno::OVERFLOW | Errno::NOSYS | Errno::OPNOTSUPP)
    )
}

fn xattrs(copied: XattrsCopied) -> Lost {
    Lost { owners: 0, attributes: u64::from(copied.lost > 0) }
}
