//! Tells the receiver the names of users and groups: each is asked for once in a session.
use std::collections::HashMap;
use std::io;

use parking_lot::Mutex;
use ringway_wire::lane::{Attributes, Owner, OwnerNamesBuffer, Xattrs, is_owner_name, owners_of};
use ringway_wire::limits::OWNERS_NAMED_MAX;

use crate::filesystem::owners::OwnerDatabase;
use crate::limits::OWNER_NAMES_BYTES_MAX;

/// The names that this machine's databases have.
pub(super) struct OwnerTable {
    database: OwnerDatabase,
    known: Mutex<Known>,
}

#[derive(Default)]
struct Known {
    /// What was asked for, with the name if there is one.
    names: HashMap<Owner, Option<Box<str>>>,
    /// Bytes of the names.
    bytes: usize,
}

impl OwnerTable {
    /// # Errors
    /// The thread that asks the databases could not be started.
    pub(super) fn open() -> io::Result<Self> {
        Ok(Self { database: OwnerDatabase::open()?, known: Mutex::default() })
    }

    /// Adds the names of an entry's users and groups to a head. Those that have none, or are beyond
    /// the limits, stay numbers.
    pub(super) fn tell(&self, attributes: &Attributes, xattrs: Xattrs<'_>, names: &mut OwnerNamesBuffer) {
        for owner in owners_of(attributes, xattrs) {
            if !names.has(owner) {
                self.known.lock().tell(owner, &self.database, names);
            }
        }
    }
}

impl Known {
    fn tell(&mut self, owner: Owner, database: &OwnerDatabase, names: &mut OwnerNamesBuffer) {
        if !self.names.contains_key(&owner) {
            if self.names.len() >= OWNERS_NAMED_MAX || self.bytes >= OWNER_NAMES_BYTES_MAX {
                return;
            }
            let name = database.name_of(owner).filter(|name| is_owner_name(name));
            self.bytes += name.as_ref().map_or(0, String::len);
            self.names.insert(owner, name.map(String::into_boxed_str));
        }
        if let Some(Some(name)) = self.names.get(&owner) {
            names.push(owner, name);
        }
    }
}
