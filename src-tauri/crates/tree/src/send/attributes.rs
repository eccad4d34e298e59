//! What shows whether a file of the source has changed, and its attributes in the wire's types.
use std::os::fd::AsFd;

use ringway_sys::attributes::{Metadata, Xattr};
use ringway_sys::space::filesystem_id;
use ringway_wire::lane::{Attributes, Timestamp, XattrBuffer};

/// The identity of a file or folder, whatever its name: device and inode number.
pub(super) type Identity = (u64, u64);

pub(super) fn identity(metadata: &Metadata) -> Identity {
    (metadata.dev, metadata.ino)
}

/// The attributes in the wire's type.
pub(super) fn attributes(metadata: &Metadata) -> Attributes {
    Attributes {
        mode: (metadata.mode & 0o7777) as u16,
        uid: metadata.uid,
        gid: metadata.gid,
        mtime: Timestamp { secs: metadata.mtime.secs, nanos: metadata.mtime.nanos },
    }
}

/// Whether both describe the same contents, as far as identity, size and time show.
pub(super) fn same_contents(one: &Metadata, other: &Metadata) -> bool {
    let key = |metadata: &Metadata| (metadata.kind, identity(metadata), metadata.size, metadata.mtime);
    key(one) == key(other)
}

/// Distinguishes a version of a large file from others that its path has had, for a receiver that
/// has begun one. A program may set a file's size and modification time, but only the kernel sets
/// the change time of the inode (`st_ctime`). `on` is an open file of the same filesystem.
///
/// It is a digest, so that the receiver does not learn numbers of this machine. Another mode or
/// owner also changes the stamp, and then the file is sent from the beginning.
pub(super) fn stamp(on: impl AsFd, metadata: &Metadata) -> u64 {
    // A device's number may change with a restart. It is used if the filesystem has no id.
    let filesystem = filesystem_id(on).ok().filter(|id| *id != 0).unwrap_or(metadata.dev);
    let mut hasher = blake3::Hasher::new_derive_key("ringway 2026 version of a large file");
    for number in [filesystem, metadata.ino, metadata.size] {
        hasher.update(&number.to_le_bytes());
    }
    for time in [metadata.ctime, metadata.mtime] {
        hasher.update(&time.secs.to_le_bytes()).update(&time.nanos.to_le_bytes());
    }
    let mut stamp = [0; size_of::<u64>()];
    hasher.finalize_xof().fill(&mut stamp);
    u64::from_le_bytes(stamp)
}

/// Bytes that a file takes on disk, at most its size.
pub(super) fn allocated(metadata: &Metadata) -> u64 {
    metadata.size.min(metadata.blocks_512.saturating_mul(512))
}

/// Converts to the wire's type; false if some were left out because of its limits.
pub(super) fn collect_xattrs(found: &[Xattr], out: &mut XattrBuffer) -> bool {
    found.iter().fold(true, |all, (name, value)| out.push(name, value) && all)
}
