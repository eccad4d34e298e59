//! Folders' attributes, put aside until the end of the transfer.
use ringway_wire::RelPath;
use ringway_wire::lane::{Acl, Attributes, Timestamp};

/// Bits of the first byte.
const STAGED: u8 = 1;
const LOST_ACL: u8 = 2;

/// A folder's attributes, to be set at the end.
pub(in crate::receive) struct FolderRecord<'a> {
    pub(in crate::receive) staged: bool,
    pub(in crate::receive) attributes: Attributes,
    /// Its access control lists, in the order of [`ringway_wire::lane::AclKind::ALL`]. They come
    /// last: the default one would be inherited by what is made in the folder.
    pub(in crate::receive) acls: [Option<Acl<'a>>; 2],
    /// It had one that it does not get.
    pub(in crate::receive) lost_acl: bool,
    pub(in crate::receive) path: RelPath<'a>,
}

impl<'a> FolderRecord<'a> {
    pub(in crate::receive) fn encode(&self) -> Vec<u8> {
        let Attributes { mode, uid, gid, mtime } = &self.attributes;
        let mut out = Vec::with_capacity(24 + self.path.as_bytes().len());
        let flag = |is_set: bool, bit: u8| if is_set { bit } else { 0 };
        out.push(flag(self.staged, STAGED) | flag(self.lost_acl, LOST_ACL));
        out.extend_from_slice(&mode.to_le_bytes());
        out.extend_from_slice(&uid.to_le_bytes());
        out.extend_from_slice(&gid.to_le_bytes());
        out.extend_from_slice(&mtime.secs.to_le_bytes());
        out.extend_from_slice(&mtime.nanos.to_le_bytes());
        for acl in self.acls {
            let acl = acl.map_or(&[][..], |acl| acl.as_bytes());
            out.extend_from_slice(&(acl.len() as u16).to_le_bytes());
            out.extend_from_slice(acl);
        }
        out.extend_from_slice(self.path.as_bytes());
        out
    }

    pub(in crate::receive) fn decode(record: &'a [u8]) -> Option<Self> {
        let (flags, rest) = record.split_first()?;
        let (mode, rest) = rest.split_first_chunk::<2>()?;
        let (uid, rest) = rest.split_first_chunk::<4>()?;
        let (gid, rest) = rest.split_first_chunk::<4>()?;
        let (secs, rest) = rest.split_first_chunk::<8>()?;
        let (nanos, rest) = rest.split_first_chunk::<4>()?;
        let (access, rest) = acl(rest)?;
        let (default, path) = acl(rest)?;
        let attributes = Attributes {
            mode: u16::from_le_bytes(*mode),
            uid: u32::from_le_bytes(*uid),
            gid: u32::from_le_bytes(*gid),
            mtime: Timestamp { secs: i64::from_le_bytes(*secs), nanos: u32::from_le_bytes(*nanos) },
        };
        let (staged, lost_acl) = (flags & STAGED != 0, flags & LOST_ACL != 0);
        Some(Self { staged, attributes, acls: [access, default], lost_acl, path: RelPath::new(path).ok()? })
    }

    pub(in crate::receive) fn depth(&self) -> usize {
        self.path.components().count()
    }
}

/// A list, if there is one, and what is behind it.
fn acl(record: &[u8]) -> Option<(Option<Acl<'_>>, &[u8])> {
    let (len, rest) = record.split_first_chunk::<2>()?;
    let (acl, rest) = rest.split_at_checked(usize::from(u16::from_le_bytes(*len)))?;
    Some((Acl::new(acl).ok(), rest))
}
