//! What shows whether a file of the source has changed, and its attributes in the wire's types.
use std::os::fd::AsFd;

use ringway_sys::attributes::{Metadata, Xattr};
use ringway_sys::space::filesystem_id;
use ringway_wire::lane::{AclKind, Attributes, Timestamp, XattrBuffer};

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

/// Converts to the wire's type; false if some were left out because of its limits. Of an access
/// control list that is too long, what names nobody is taken: the mode has the list's mask in place
/// of what the owning group may do, and would let that group in by itself.
pub(super) fn collect_xattrs(found: &[Xattr], out: &mut XattrBuffer) -> bool {
    found.iter().fold(true, |all, (name, value)| {
        let taken = out.push(name, value);
        if !taken && AclKind::of(name).is_some() {
            out.push(name, &without_names(value));
        }
        taken && all
    })
}

/// A list without its entries that name users or groups (linux/posix_acl_xattr.h).
fn without_names(list: &[u8]) -> Vec<u8> {
    const VERSION_LEN: usize = 4;
    const ENTRY_LEN: usize = 8;
    const NAMES_USER: u16 = 2;
    const NAMES_GROUP: u16 = 8;
    let (version, entries) = list.split_at(list.len().min(VERSION_LEN));
    let tag = |entry: &[u8]| u16::from_le_bytes([entry[0], entry[1]]);
    let unnamed = entries.chunks_exact(ENTRY_LEN).filter(|entry| ![NAMES_USER, NAMES_GROUP].contains(&tag(entry)));
    [version].into_iter().chain(unnamed).flatten().copied().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_a_list_that_is_too_long_the_owning_groups_part_is_kept() {
        let entry = |tag: u16, permissions: u16, id: u32| {
            [&tag.to_le_bytes()[..], &permissions.to_le_bytes(), &id.to_le_bytes()].concat()
        };
        let named = (0..200).map(|id| entry(2, 7, id));
        let entries = [entry(1, 6, u32::MAX)].into_iter().chain(named);
        let entries = entries.chain([entry(4, 0, u32::MAX), entry(16, 7, u32::MAX), entry(32, 0, u32::MAX)]);
        let list = [2_u32.to_le_bytes().to_vec()].into_iter().chain(entries).flatten().collect::<Vec<_>>();
        let mut out = XattrBuffer::default();
        let found = [(AclKind::Access.name().to_vec(), list), (b"user.a".to_vec(), b"x".to_vec())];
        assert!(!collect_xattrs(&found, &mut out));
        let sent = out.as_xattrs();
        assert_eq!(sent.acl(AclKind::Access).map(|acl| acl.of_group()), Some(0));
        assert_eq!(sent.iter().count(), 1, "beside it");
    }
}
