//! Names of the users and groups whose numbers the entries of a head have: for a receiver that
//! gives its files to the users and groups of the same names.
use std::collections::HashSet;

use super::owner::{Owner, OwnerKind};
use super::{Acl, AclKind, Attributes, Xattrs, bounded};
use crate::ProtocolError;
use crate::bytes::{Put, Reader};
use crate::limits::{ACL_ENTRIES_MAX, OWNER_NAME_MAX, OWNER_NAMES_PER_HEAD_MAX};

/// The most names that one entry brings: user and group, and those of two access control lists.
const NAMES_OF_ENTRY_MAX: usize = 2 + AclKind::ALL.len() * ACL_ENTRIES_MAX;

/// The most bytes of one name in a head: kind, number, length and text.
const NAME_LEN_MAX: usize = 1 + 4 + 2 + OWNER_NAME_MAX;

/// The most bytes that the names of one entry take.
pub(super) const NAMES_OF_ENTRY_LEN_MAX: usize = NAMES_OF_ENTRY_MAX * NAME_LEN_MAX;

/// The users and groups that an entry names: its own, and those of its access control lists.
pub fn owners_of<'a>(attributes: &Attributes, xattrs: Xattrs<'a>) -> impl Iterator<Item = Owner> + use<'a> {
    let own = [(OwnerKind::User, attributes.uid), (OwnerKind::Group, attributes.gid)];
    let listed = AclKind::ALL.into_iter().filter_map(move |kind| xattrs.acl(kind));
    let all = own.into_iter().chain(listed.flat_map(|acl: Acl<'a>| acl.named()));
    all.filter_map(|(kind, id)| Owner::new(kind, id))
}

/// Whether a user or group may have this name on the wire. Directories have names with spaces,
/// backslashes and at signs, so only what no database can hold is refused.
pub fn is_owner_name(name: &str) -> bool {
    let is_bad = |c: char| c.is_control() || matches!(c, '/' | ':');
    (1..=OWNER_NAME_MAX).contains(&name.len()) && !name.contains(is_bad)
}

/// Encoded names; checked when parsed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct OwnerNames<'a> {
    count: u16,
    bytes: &'a [u8],
}

impl<'a> OwnerNames<'a> {
    /// Each user or group with its name, in the order sent.
    pub fn iter(&self) -> impl Iterator<Item = (Owner, &'a str)> + use<'a> {
        let mut reader = Reader::new(self.bytes);
        (0..self.count).map_while(move |_| decode_name(&mut reader).ok())
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.count == 0
    }

    pub(super) fn decode(reader: &mut Reader<'a>) -> Result<Self, ProtocolError> {
        let count = reader.u16()?;
        bounded("names of users and groups", count.into(), OWNER_NAMES_PER_HEAD_MAX as u64)?;
        let all = reader.rest();
        let mut named = HashSet::new();
        for _ in 0..count {
            let (owner, _) = decode_name(reader)?;
            if !named.insert(owner) {
                return Err(ProtocolError::BadValue("owner that has two names"));
            }
        }
        Ok(Self { count, bytes: &all[..all.len() - reader.rest().len()] })
    }
}

fn decode_name<'a>(reader: &mut Reader<'a>) -> Result<(Owner, &'a str), ProtocolError> {
    let kind = match reader.u8()? {
        0 => OwnerKind::User,
        1 => OwnerKind::Group,
        value => return Err(ProtocolError::Unknown { what: "owner", value }),
    };
    let owner = Owner::new(kind, reader.u32()?).ok_or(ProtocolError::BadValue("owner"))?;
    let name = reader.short_bytes("owner name", OWNER_NAME_MAX)?;
    let name = std::str::from_utf8(name).map_err(|_| ProtocolError::BadText)?;
    if is_owner_name(name) { Ok((owner, name)) } else { Err(ProtocolError::BadValue("owner name")) }
}

pub(super) fn encode_names(names: OwnerNames<'_>, out: &mut Vec<u8>) {
    out.put_u16(names.count);
    out.extend_from_slice(names.bytes);
}

/// Names that are being collected for a head, each user and group once.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OwnerNamesBuffer {
    owners: Vec<Owner>,
    bytes: Vec<u8>,
}

impl OwnerNamesBuffer {
    /// Whether that user or group has its name.
    pub fn has(&self, owner: Owner) -> bool {
        self.owners.contains(&owner)
    }

    /// Adds the name of a user or group that has none yet. A name that the wire does not take is
    /// left out, so that the receiver has the number alone.
    pub fn push(&mut self, owner: Owner, name: &str) {
        if self.owners.len() < OWNER_NAMES_PER_HEAD_MAX && is_owner_name(name) && !self.has(owner) {
            self.owners.push(owner);
            self.bytes.put_u8(match owner.kind() {
                OwnerKind::User => 0,
                OwnerKind::Group => 1,
            });
            self.bytes.put_u32(owner.id());
            self.bytes.put_short_bytes(name.as_bytes());
        }
    }

    /// The names as a head has them.
    pub fn as_names(&self) -> OwnerNames<'_> {
        OwnerNames { count: self.owners.len() as u16, bytes: &self.bytes }
    }

    /// Empties it, keeping its memory.
    pub(super) fn clear(&mut self) {
        self.owners.clear();
        self.bytes.clear();
    }

    /// Bytes of the names so far.
    pub(super) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// Whether the names of two more entries are certain to fit.
    pub(super) fn has_room(&self) -> bool {
        self.owners.len() + 2 * NAMES_OF_ENTRY_MAX <= OWNER_NAMES_PER_HEAD_MAX
    }
}
