//! What is needed to tell whether a file of the source changed, and its attributes as entries carry them.
use ringway_sys::attributes::{Metadata, Xattr};
use ringway_wire::lane::{Attributes, Timestamp, XattrBuffer};

/// What one file or folder is, whatever it is called: device and inode number.
pub(super) type Identity = (u64, u64);

pub(super) fn identity(metadata: &Metadata) -> Identity {
    (metadata.dev, metadata.ino)
}

/// As entries carry them.
pub(super) fn attributes(metadata: &Metadata) -> Attributes {
    Attributes {
        mode: (metadata.mode & 0o7777) as u16,
        uid: metadata.uid,
        gid: metadata.gid,
        mtime: Timestamp { secs: metadata.mtime.secs, nanos: metadata.mtime.nanos },
    }
}

/// Whether both describe the same contents, as far as identity, size and time can tell.
pub(super) fn same_contents(one: &Metadata, other: &Metadata) -> bool {
    let key = |metadata: &Metadata| (metadata.kind, identity(metadata), metadata.size, metadata.mtime);
    key(one) == key(other)
}

/// Bytes that a file takes on disk, at most its size.
pub(super) fn allocated(metadata: &Metadata) -> u64 {
    metadata.size.min(metadata.blocks_512.saturating_mul(512))
}

/// As the wire takes them; false if some had to be left out because of its limits.
pub(super) fn collect_xattrs(found: &[Xattr], out: &mut XattrBuffer) -> bool {
    found.iter().fold(true, |all, (name, value)| out.push(name, value) && all)
}
