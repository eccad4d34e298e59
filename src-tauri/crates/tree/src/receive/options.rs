//! How and where a transfer lands, as its offer was accepted.
use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use ringway_model::{IntoHome, OnConflict, TransferId};
use ringway_wire::OfferedNames;
use ringway_wire::control::Wanted;

use super::TOPS_LOOKED_AT_MAX;
use super::allowance::Allowance;
use super::destination::Expected;
use super::landings::log::{Recall, SealKey, Whose};
use super::protected::homes::Homes;
use super::protected::own_folders::OwnFolders;
use super::received_before::Brought;
use super::tops_at_first::TopsAtFirst;
use crate::descriptors::ForReceiving;
use crate::disk::Dir;
use crate::filesystem::own_names::STAGING_ID_DIGITS;

/// What the same device brought under a top-level name before, if it brought anything.
pub type BroughtBefore = Box<dyn Fn(&[u8]) -> Option<Brought> + Send + Sync>;

/// Whether another device has brought something to the destination, or may be doing so now.
pub type OthersBrought = Box<dyn Fn() -> bool + Send + Sync>;

/// Told which folders are about to get their top-level names, before the first one does: a receiver
/// that is killed then still knows whose they are.
pub type Announce = Box<dyn Fn(Vec<(Vec<u8>, Brought)>) + Send + Sync>;

/// Sends the sender an answer to a list, and waits while many are on their way. False if the
/// session has ended.
pub type Answers = Box<dyn Fn(Wanted) -> bool + Send + Sync>;

/// Whether an entry was asked for, by its path within the transfer and whether it is a folder. It
/// is asked about the folders above first.
pub type Asked = Arc<dyn Fn(&[u8], bool) -> bool + Send + Sync>;

/// How and where a transfer lands.
pub struct DestinationOptions {
    /// The folder that everything lands beneath.
    pub destination: PathBuf,
    /// What has to be there.
    pub expected: Expected,
    /// Names the staging folder.
    pub transfer: TransferId,
    /// What happens to files that exist.
    pub on_conflict: OnConflict,
    /// Owner and group are kept.
    pub keep_owner: bool,
    /// Owners, groups, and those in access control lists are those of the sender's names, where
    /// they have such names here, and not of its numbers.
    pub owners_by_name: bool,
    /// setuid and setgid are kept.
    pub keep_setuid: bool,
    /// Access control lists are kept.
    pub keep_acls: bool,
    /// Under [`OnConflict::Replace`], folders that exist take the sender's mode also where that
    /// lets more people in.
    pub widen_modes: bool,
    /// For [`OnConflict::RenameTop`].
    pub brought_before: BroughtBefore,
    /// Where it has, nobody may replace what both have brought.
    pub others_brought: OthersBrought,
    /// `None` if nothing is remembered.
    pub announce: Option<Announce>,
    /// Whose files land; `None` if nothing is remembered.
    pub whose: Option<Whose>,
    /// What takes up what receivers that were killed have left.
    pub recall: Option<Arc<Recall>>,
    /// What an attempt at the same transfer has in common with another one: who sends what.
    pub attempt: AttemptKey,
    /// What its sender is called, for who asks what was left behind.
    pub from: String,
    /// Top-level names of it, as many as the offer says.
    pub names: Vec<Vec<u8>>,
    /// How many more of them there are.
    pub more_names: u64,
    /// All of them: nothing lands under another name at the top. None only for trees that no peer
    /// sends, in measurements and tests.
    pub offered: Option<Arc<OfferedNames>>,
    /// What of it was asked for: nothing else lands. None for everything.
    pub asked: Option<Asked>,
    /// Takes answers to lists; without it nothing is listed.
    pub answers: Option<Answers>,
    /// What it may keep open.
    pub open: ForReceiving,
    /// Digests come along, and everything is read back before the receipt.
    pub prove: bool,
    /// What may come; none is any amount.
    pub allowance: Option<Arc<Allowance>>,
    /// Where nothing may land.
    pub own: OwnFolders,
    /// What may, where it is a home or lies in one.
    pub into_home: IntoHome,
    /// Which folders are homes, besides those of the users who own the destination and what is
    /// there of the offer.
    pub homes: Homes,
    /// What had the offered names at the top when the first attempt began: the same in each.
    pub tops: TopsAtFirst,
}

/// Tells attempts at one transfer from all others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AttemptKey([u8; 32]);

impl AttemptKey {
    /// By the sender's device id and all top-level names of what it offers.
    pub fn new(sender: &[u8], names: &OfferedNames) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("ringway 2026 attempt at a transfer");
        for part in std::iter::once(sender).chain(names.iter()) {
            hasher.update(&(part.len() as u64).to_le_bytes()).update(part);
        }
        Self(*hasher.finalize().as_bytes())
    }

    /// The same into a place that its sender has named: into another one it is another attempt.
    pub fn within(self, place: &[u8]) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("ringway 2026 attempt at a transfer into a place");
        hasher.update(&self.0).update(place);
        Self(*hasher.finalize().as_bytes())
    }
}

impl AttemptKey {
    /// The same to a receiver with that store, whose staging folder no other one takes over.
    pub(super) fn of_store(self, key: &SealKey) -> Self {
        Self(key.of_attempt(&self.0))
    }
}

impl fmt::Display for AttemptKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0[..STAGING_ID_DIGITS / 2].iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

/// Whether a top-level name of the offer is taken by what it would be merged with, or has a number.
pub(super) fn may_be_there(root: &Dir, options: &DestinationOptions) -> bool {
    let is_numbered = |name: &[u8]| (options.brought_before)(name).is_some_and(|brought| brought.numbered.is_some());
    options.more_names > 0 || options.names.iter().any(|name| root.metadata(name).is_ok() || is_numbered(name))
}

/// The homes that the destination may be or hold, as far as the transfer minds them.
pub(super) fn homes_below(root: &Dir, owner: u32, options: &DestinationOptions) -> Homes {
    if options.into_home == IntoHome::DotNames {
        return Homes::default();
    }
    let offered = options.offered.iter().flat_map(|names| names.iter()).take(TOPS_LOOKED_AT_MAX);
    let owners = offered.filter_map(|name| root.metadata(name).ok()).map(|there| there.uid);
    options.homes.clone().and_of(owners.chain([owner]))
}
