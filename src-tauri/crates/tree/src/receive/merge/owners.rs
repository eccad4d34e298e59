//! Maps numbers of the sender's users and groups to those of the same names here.
use std::collections::HashMap;
use std::io;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;
use ringway_wire::ProtocolError;
use ringway_wire::lane::{Acl, Attributes, Owner, OwnerKind, OwnerNames};
use ringway_wire::limits::OWNERS_NAMED_MAX;

use crate::filesystem::owners::OwnerDatabase;

/// What the sender's users and groups are here.
#[derive(Default)]
pub(in crate::receive) struct OwnerMap {
    /// `None` if numbers stay as they are.
    database: Option<OwnerDatabase>,
    /// Those whose names were told: the number here, or none if nobody has the name.
    known: RwLock<HashMap<Owner, Option<u32>>>,
    /// Entries whose user or group has a name that nobody has here.
    by_number: AtomicU64,
}

impl OwnerMap {
    /// A map by names. Not for confined threads, see [`OwnerDatabase::open`].
    ///
    /// # Errors
    /// The thread that asks the databases could not be started.
    pub(in crate::receive) fn by_name() -> io::Result<Self> {
        Ok(Self { database: Some(OwnerDatabase::open()?), ..Self::default() })
    }

    /// Whether the sender is to tell names.
    pub(in crate::receive) fn is_by_name(&self) -> bool {
        self.database.is_some()
    }

    /// Entries whose user or group has the sender's number, although it has a name.
    pub(in crate::receive) fn by_number(&self) -> u64 {
        self.by_number.load(Ordering::Relaxed)
    }

    /// Looks up names that were not given before. The first name that is given for a number counts.
    ///
    /// Nobody becomes root by a name: a sender may call any of its users "root".
    ///
    /// # Errors
    /// Nobody asked for names, or there are more than any machine has.
    pub(in crate::receive) fn learn(&self, names: OwnerNames<'_>) -> Result<(), ProtocolError> {
        if names.is_empty() {
            return Ok(());
        }
        let Some(database) = &self.database else {
            return Err(ProtocolError::BadValue("owner names that nobody asked for"));
        };
        for (owner, name) in names.iter() {
            if self.known.read().contains_key(&owner) {
                continue;
            }
            if self.known.read().len() >= OWNERS_NAMED_MAX {
                let limit = OWNERS_NAMED_MAX as u64;
                return Err(ProtocolError::TooLarge { what: "named users and groups", value: limit + 1, limit });
            }
            let id = database.id_of(owner.kind(), name).filter(|id| Owner::new(owner.kind(), *id).is_some());
            self.known.write().entry(owner).or_insert(id);
        }
        Ok(())
    }

    /// The attributes with the user and group that an entry is to have here.
    pub(in crate::receive) fn local(&self, attributes: &Attributes) -> Attributes {
        if !self.is_by_name() {
            return *attributes;
        }
        let (uid, gid) = (self.id(OwnerKind::User, attributes.uid), self.id(OwnerKind::Group, attributes.gid));
        Attributes { uid, gid, ..*attributes }
    }

    /// The list with the users and groups that it is to name here; `None` if that is as it was
    /// sent.
    pub(in crate::receive) fn local_acl(&self, acl: Acl<'_>) -> Option<Vec<u8>> {
        self.is_by_name().then(|| acl.mapped(|kind, id| self.id(kind, id)))
    }

    /// Counts an entry, by the sender's attributes, if its user or group stays a number although it
    /// has a name.
    pub(in crate::receive) fn note(&self, attributes: &Attributes) {
        let is_unknown =
            |kind, id| Owner::new(kind, id).is_some_and(|owner| matches!(self.known.read().get(&owner), Some(None)));
        let is_any = self.is_by_name()
            && (is_unknown(OwnerKind::User, attributes.uid) || is_unknown(OwnerKind::Group, attributes.gid));
        if is_any {
            self.by_number.fetch_add(1, Ordering::Relaxed);
        }
    }

    fn id(&self, kind: OwnerKind, id: u32) -> u32 {
        let known = || Owner::new(kind, id).and_then(|owner| self.known.read().get(&owner).copied().flatten());
        known().unwrap_or(id)
    }
}
