//! Users and groups by their numbers.

/// Whether a number is a user's or a group's.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum OwnerKind {
    /// A user's.
    User,
    /// A group's.
    Group,
}

/// A user or group by its number. Number 0 has no name on the wire: root is root everywhere, and
/// nobody becomes root by a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Owner {
    kind: OwnerKind,
    id: u32,
}

impl Owner {
    /// `None` for number 0, and for the number that the kernel takes for "nobody in particular".
    pub fn new(kind: OwnerKind, id: u32) -> Option<Self> {
        (id != 0 && id != u32::MAX).then_some(Self { kind, id })
    }

    /// Whether it is a user or a group.
    pub fn kind(self) -> OwnerKind {
        self.kind
    }

    /// Its number.
    pub fn id(self) -> u32 {
        self.id
    }
}
