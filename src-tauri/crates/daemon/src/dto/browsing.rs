//! What the front end sees and says of folders that other devices share.
use std::os::unix::ffi::OsStrExt;

use ringway_engine::{Browsed, PathInShare, Unread};
use ringway_model::{EntryThere, Fault, OsError, PathText, ShareName, ShareThere};
use serde::{Deserialize, Serialize};

/// A [`PathInShare`] as the front end says it, which knows the folders on the way one by one.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(deny_unknown_fields)]
pub struct PathThere {
    /// The share.
    pub share: ShareName,
    /// The names from there on, as entries have them; none for the share itself.
    pub names: Vec<PathText>,
}

impl TryFrom<PathThere> for PathInShare {
    type Error = Fault;

    fn try_from(PathThere { share, names }: PathThere) -> Result<Self, Fault> {
        let names: Vec<_> = names.iter().map(|name| name.as_os_str().as_bytes()).collect();
        Self::new(share, names.join(&b'/'), false)
    }
}

/// What a person picked in a folder of another device's share.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(deny_unknown_fields)]
pub struct PickedThere {
    /// The folder.
    pub folder: PathThere,
    /// The names of its entries that were picked; none means the folder itself.
    pub names: Vec<PathText>,
}

/// An entry that could not be read, or a folder whose entries could not.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
pub struct UnreadThere {
    /// Its path below the folder that is listed; empty for that folder itself.
    #[serde(flatten)]
    pub path: PathText,
    /// What the kernel said there.
    pub source: OsError,
}

/// The next part of a listing of what another device shares.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(tag = "of", rename_all = "camelCase")]
pub enum ListingPage {
    /// Its shares, all of them.
    Shares {
        /// By name.
        shares: Vec<ShareThere>,
    },
    /// Entries of a folder.
    Entries {
        /// In the order of the bytes of their names.
        entries: Vec<EntryThere>,
        /// Those that could not be read.
        unread: Vec<UnreadThere>,
        /// Whether there are no more.
        is_last: bool,
    },
}

impl ListingPage {
    pub(crate) fn of(page: Vec<Browsed>) -> Self {
        let (mut entries, mut unread) = (Vec::with_capacity(page.len()), Vec::new());
        for one in page {
            match one {
                Ok(entry) => entries.push(entry),
                Err(Unread { path, source }) => unread.push(UnreadThere { path, source }),
            }
        }
        Self::Entries { entries, unread, is_last: false }
    }

    /// Behind the last entries of a folder.
    pub(crate) fn end() -> Self {
        Self::Entries { entries: Vec::new(), unread: Vec::new(), is_last: true }
    }

    /// Takes in what comes next.
    pub(crate) fn append(&mut self, next: Self) {
        let Self::Entries { entries, unread, is_last } = self else { return };
        if let Self::Entries { entries: more, unread: more_unread, is_last: ends } = next {
            entries.extend(more);
            unread.extend(more_unread);
            *is_last |= ends;
        }
    }

    pub(crate) fn is_last(&self) -> bool {
        match self {
            Self::Shares { .. } => true,
            Self::Entries { is_last, .. } => *is_last,
        }
    }
}
