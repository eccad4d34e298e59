//! Files with several names that cannot have the first one: their contents stay in the staging
//! folder until the end, and the other names are made from there.
use std::collections::HashMap;
use std::sync::Arc;

use crate::disk::Dir;
use parking_lot::Mutex;

/// Where the contents are that have no name yet, by the file's number.
pub(in crate::receive) type AllUnplaced = Mutex<HashMap<u64, Unplaced>>;

pub(in crate::receive) struct Unplaced {
    pub(in crate::receive) dir: Arc<Dir>,
    pub(in crate::receive) name: Vec<u8>,
    /// Its device and inode.
    pub(in crate::receive) identity: (u64, u64),
}
