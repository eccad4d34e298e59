//! POSIX access control lists, as Linux has them in extended attributes (acl(5),
//! posix_acl_xattr.h): checked when they are parsed and when they are collected.
use super::owner::OwnerKind;
use crate::ProtocolError;
use crate::limits::ACL_ENTRIES_MAX;

/// The version of the kernel's format, which begins a list.
const VERSION: [u8; 4] = 2_u32.to_le_bytes();

/// Bytes of an entry: tag, permissions and id.
const ENTRY_LEN: usize = 8;

/// The most bytes of a list.
pub const ACL_LEN_MAX: usize = VERSION.len() + ACL_ENTRIES_MAX * ENTRY_LEN;

/// The tags of entries, in the order in which a list has them.
const USER_OBJ: u16 = 0x01;
const USER: u16 = 0x02;
const GROUP_OBJ: u16 = 0x04;
const GROUP: u16 = 0x08;
const MASK: u16 = 0x10;
const OTHER: u16 = 0x20;

/// All permissions of an entry.
const PERMISSIONS: u16 = 0o7;

/// The id that no user or group has.
const NO_ID: u32 = u32::MAX;

/// Which list of an entry.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AclKind {
    /// Who may do what with it, beyond its mode.
    Access,
    /// What a folder passes to entries that are made in it.
    Default,
}

impl AclKind {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Access, Self::Default];

    /// The attribute's name.
    pub fn name(self) -> &'static [u8] {
        match self {
            Self::Access => b"system.posix_acl_access",
            Self::Default => b"system.posix_acl_default",
        }
    }

    /// Which list an attribute is; `None` for other attributes.
    pub fn of(name: &[u8]) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| kind.name() == name)
    }
}

/// A list that the kernel would take, but for ids that it does not know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Acl<'a>(&'a [u8]);

impl<'a> Acl<'a> {
    /// Checks a list: each entry once, in order, with a mask where somebody is named.
    ///
    /// # Errors
    /// It is no such list, or has more than [`ACL_ENTRIES_MAX`] entries.
    pub fn new(bytes: &'a [u8]) -> Result<Self, ProtocolError> {
        let bad = ProtocolError::BadValue("access control list");
        if bytes.len() > ACL_LEN_MAX {
            let (value, limit) = (bytes.len() as u64, ACL_LEN_MAX as u64);
            return Err(ProtocolError::TooLarge { what: "access control list", value, limit });
        }
        let entries = bytes.strip_prefix(&VERSION).ok_or(bad)?;
        if !entries.len().is_multiple_of(ENTRY_LEN) {
            return Err(bad);
        }
        let (mut before, mut names_somebody) = (0, false);
        for (tag, permissions, id) in each(entries) {
            let names = matches!(tag, USER | GROUP);
            let follows = match tag {
                USER_OBJ => before == 0,
                USER => matches!(before, USER_OBJ | USER),
                GROUP_OBJ => matches!(before, USER_OBJ | USER),
                GROUP => matches!(before, GROUP_OBJ | GROUP),
                MASK => matches!(before, GROUP_OBJ | GROUP),
                OTHER => before == MASK || (matches!(before, GROUP_OBJ) && !names_somebody),
                _ => false,
            };
            if !follows || permissions & !PERMISSIONS != 0 || (names && id == NO_ID) {
                return Err(bad);
            }
            (before, names_somebody) = (tag, names_somebody || names);
        }
        if before == OTHER { Ok(Self(bytes)) } else { Err(bad) }
    }

    /// As the kernel has it.
    pub fn as_bytes(&self) -> &'a [u8] {
        self.0
    }

    /// What the owning group may do, from 0 to 7. The mode of an entry with a list has the mask in
    /// its place, which may be more.
    pub fn of_group(&self) -> u16 {
        let entries = &self.0[VERSION.len()..];
        let of = |wanted| each(entries).find(|(tag, ..)| *tag == wanted).map(|(_, permissions, _)| permissions);
        of(GROUP_OBJ).unwrap_or_default() & of(MASK).unwrap_or(PERMISSIONS)
    }

    /// The users and groups that it names.
    pub(super) fn named(self) -> impl Iterator<Item = (OwnerKind, u32)> + use<'a> {
        each(&self.0[VERSION.len()..]).filter_map(|(tag, _, id)| Some((kind_of(tag)?, id)))
    }

    /// The same list for other numbers of users and groups. Where two become one, that one may do
    /// what both might.
    pub fn mapped(&self, map: impl Fn(OwnerKind, u32) -> u32) -> Vec<u8> {
        let mut entries: Vec<(u16, u16, u32)> = Vec::new();
        for (tag, permissions, id) in each(&self.0[VERSION.len()..]) {
            let id = kind_of(tag).map_or(id, |kind| map(kind, id));
            match entries.iter_mut().find(|(of, _, other)| (*of, *other) == (tag, id)) {
                Some((_, both, _)) => *both &= permissions,
                None => entries.push((tag, permissions, id)),
            }
        }
        let mut bytes = VERSION.to_vec();
        for (tag, permissions, id) in entries {
            bytes.extend_from_slice(&tag.to_le_bytes());
            bytes.extend_from_slice(&permissions.to_le_bytes());
            bytes.extend_from_slice(&id.to_le_bytes());
        }
        bytes
    }
}

/// Whose number an entry has, if it has one.
fn kind_of(tag: u16) -> Option<OwnerKind> {
    match tag {
        USER => Some(OwnerKind::User),
        GROUP => Some(OwnerKind::Group),
        _ => None,
    }
}

/// Tag, permissions and id of each entry.
fn each(entries: &[u8]) -> impl Iterator<Item = (u16, u16, u32)> {
    entries.chunks_exact(ENTRY_LEN).map(|entry| {
        let short = |at: usize| u16::from_le_bytes([entry[at], entry[at + 1]]);
        (short(0), short(2), u32::from_le_bytes([entry[4], entry[5], entry[6], entry[7]]))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn list(entries: &[(u16, u16, u32)]) -> Vec<u8> {
        let mut bytes = VERSION.to_vec();
        for (tag, permissions, id) in entries {
            bytes.extend(tag.to_le_bytes());
            bytes.extend(permissions.to_le_bytes());
            bytes.extend(id.to_le_bytes());
        }
        bytes
    }

    const OWNER: (u16, u16, u32) = (USER_OBJ, 6, NO_ID);
    const OWNERS_GROUP: (u16, u16, u32) = (GROUP_OBJ, 5, NO_ID);
    const OTHERS: (u16, u16, u32) = (OTHER, 0, NO_ID);

    #[test]
    fn lists_that_the_kernel_takes_pass() {
        let mask = (MASK, 6, NO_ID);
        for entries in [
            &[OWNER, OWNERS_GROUP, OTHERS][..],
            &[OWNER, OWNERS_GROUP, mask, OTHERS],
            &[OWNER, (USER, 7, 1000), (USER, 0, 7), OWNERS_GROUP, (GROUP, 4, 0), mask, OTHERS],
        ] {
            let bytes = list(entries);
            assert_eq!(Acl::new(&bytes).unwrap().as_bytes(), bytes);
        }
        assert_eq!(Acl::new(&list(&[OWNER, OWNERS_GROUP, OTHERS])).unwrap().of_group(), 5);
        assert_eq!(Acl::new(&list(&[OWNER, OWNERS_GROUP, mask, OTHERS])).unwrap().of_group(), 4, "the mask cuts it");
    }

    #[test]
    fn numbers_are_mapped_and_two_that_become_one_keep_what_both_may() {
        let mask = (MASK, 6, NO_ID);
        let before = list(&[
            OWNER,
            (USER, 7, 1000),
            (USER, 5, 1001),
            OWNERS_GROUP,
            (GROUP, 4, 1000),
            (GROUP, 6, 0),
            mask,
            OTHERS,
        ]);
        let acl = Acl::new(&before).unwrap();
        let named: Vec<_> = acl.named().collect();
        assert_eq!(
            named,
            [(OwnerKind::User, 1000), (OwnerKind::User, 1001), (OwnerKind::Group, 1000), (OwnerKind::Group, 0)]
        );
        assert_eq!(acl.mapped(|_, id| id), before);
        let mapped = acl.mapped(|kind, id| match (kind, id) {
            (OwnerKind::User, _) => 7,
            (OwnerKind::Group, 1000) => 8,
            (_, id) => id,
        });
        let wanted = list(&[OWNER, (USER, 5, 7), OWNERS_GROUP, (GROUP, 4, 8), (GROUP, 6, 0), mask, OTHERS]);
        assert_eq!(Acl::new(&mapped).unwrap().as_bytes(), wanted);
    }

    #[test]
    fn anything_else_is_refused() {
        let mask = (MASK, 6, NO_ID);
        for entries in [
            &[][..],
            &[OWNER],
            &[OWNER, OWNERS_GROUP],
            &[OWNER, OTHERS],
            &[OWNERS_GROUP, OWNER, OTHERS],
            &[OWNER, OWNER, OWNERS_GROUP, OTHERS],
            &[OWNER, OWNERS_GROUP, OTHERS, OTHERS],
            // Somebody is named without a mask.
            &[OWNER, (USER, 7, 1000), OWNERS_GROUP, OTHERS],
            &[OWNER, OWNERS_GROUP, (GROUP, 7, 1000), OTHERS],
            &[OWNER, (USER, 7, NO_ID), OWNERS_GROUP, mask, OTHERS],
            &[OWNER, (USER, 8, 1000), OWNERS_GROUP, mask, OTHERS],
            &[OWNER, OWNERS_GROUP, mask, (0x40, 0, 0), OTHERS],
        ] {
            assert!(Acl::new(&list(entries)).is_err(), "{entries:?}");
        }
        let good = list(&[OWNER, OWNERS_GROUP, OTHERS]);
        assert!(Acl::new(&good[..good.len() - 1]).is_err() && Acl::new(&good[1..]).is_err() && Acl::new(&[]).is_err());
        let mut many = vec![OWNER];
        many.resize(ACL_ENTRIES_MAX, (USER, 7, 1000));
        many.extend([OWNERS_GROUP, mask, OTHERS]);
        assert!(matches!(Acl::new(&list(&many)), Err(ProtocolError::TooLarge { .. })));
    }
}
