//! Folders' attributes, put aside until the end of the transfer.
use ringway_wire::RelPath;
use ringway_wire::lane::{Attributes, Timestamp};

/// A folder's attributes, to be set at the end.
pub(in crate::receive) struct FolderRecord<'a> {
    pub(in crate::receive) staged: bool,
    pub(in crate::receive) attributes: Attributes,
    pub(in crate::receive) path: RelPath<'a>,
}

impl<'a> FolderRecord<'a> {
    pub(in crate::receive) fn encode(&self) -> Vec<u8> {
        let Attributes { mode, uid, gid, mtime } = &self.attributes;
        let mut out = Vec::with_capacity(24 + self.path.as_bytes().len());
        out.push(u8::from(self.staged));
        out.extend_from_slice(&mode.to_le_bytes());
        out.extend_from_slice(&uid.to_le_bytes());
        out.extend_from_slice(&gid.to_le_bytes());
        out.extend_from_slice(&mtime.secs.to_le_bytes());
        out.extend_from_slice(&mtime.nanos.to_le_bytes());
        out.extend_from_slice(self.path.as_bytes());
        out
    }

    pub(in crate::receive) fn decode(record: &'a [u8]) -> Option<Self> {
        let (staged, rest) = record.split_first()?;
        let (mode, rest) = rest.split_first_chunk::<2>()?;
        let (uid, rest) = rest.split_first_chunk::<4>()?;
        let (gid, rest) = rest.split_first_chunk::<4>()?;
        let (secs, rest) = rest.split_first_chunk::<8>()?;
        let (nanos, path) = rest.split_first_chunk::<4>()?;
        let attributes = Attributes {
            mode: u16::from_le_bytes(*mode),
            uid: u32::from_le_bytes(*uid),
            gid: u32::from_le_bytes(*gid),
            mtime: Timestamp { secs: i64::from_le_bytes(*secs), nanos: u32::from_le_bytes(*nanos) },
        };
        Some(Self { staged: *staged == 1, attributes, path: RelPath::new(path).ok()? })
    }

    pub(in crate::receive) fn depth(&self) -> usize {
        self.path.components().count()
    }
}
