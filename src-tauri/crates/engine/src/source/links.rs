//! Files with several names, as walks meet them.
use std::collections::HashMap;

use ringway_sys::attributes::Metadata;
use ringway_wire::limits::LINK_SETS_MAX;

use super::tree::{self, Identity};

/// Link sets remembered at once. Less than the receiver remembers: on several lanes it may be a little behind.
const LINK_SETS_SENT_MAX: usize = LINK_SETS_MAX / 4 * 3;

/// Files with several names, while more of them may be found.
#[derive(Default)]
pub(super) struct Links {
    sets: HashMap<Identity, LinkSet>,
    next_id: u64,
}

struct LinkSet {
    id: u64,
    /// Names not found yet, by the count when the first was.
    left: u64,
}

pub(super) enum Seen {
    /// It has one name, or too many files with several are being remembered: it travels by itself.
    Alone,
    First(u64),
    Again {
        id: u64,
        last: bool,
    },
}

impl Links {
    pub(super) fn see(&mut self, metadata: &Metadata) -> Seen {
        if metadata.nlink < 2 {
            return Seen::Alone;
        }
        if let Some(set) = self.sets.get_mut(&tree::identity(metadata)) {
            set.left -= 1;
            let (id, last) = (set.id, set.left == 0);
            if last {
                self.sets.remove(&tree::identity(metadata));
            }
            return Seen::Again { id, last };
        }
        if self.sets.len() >= LINK_SETS_SENT_MAX {
            return Seen::Alone;
        }
        let id = self.next_id;
        self.next_id += 1;
        self.sets.insert(tree::identity(metadata), LinkSet { id, left: metadata.nlink - 1 });
        Seen::First(id)
    }
}
