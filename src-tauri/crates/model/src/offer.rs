//! What a paired device offers.
mod comparison;

use serde::{Deserialize, Serialize};

use crate::device::{DeviceId, LookAlike};
use crate::id::{TransferId, TransferKey};
use crate::paired::{AskedBecause, EntryKind};
use crate::text::{PathText, Text};
use crate::transfer::{OnConflict, ShownSize};

pub use comparison::{Comparison, ComparisonState, Difference, HereIs};

/// What an offer says of itself before anything moves, and where it would land.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Offer {
    /// The transfer's id. At the service: an id of this offer alone, which the service drew.
    pub id: TransferId,
    /// What the device that offers it is called here.
    pub from: Text,
    /// That device's id.
    pub from_id: DeviceId,
    /// Another paired device whose name looks the same.
    pub looks_like: Option<LookAlike>,
    /// The first of its top-level names.
    pub names: Vec<PathText>,
    /// What each of those is, in the same order, where its sender has listed it by now.
    pub kinds: Vec<Option<EntryKind>>,
    /// How many more names there are.
    pub more_names: u64,
    /// The first of all its names that begin with a dot: such files can configure and start
    /// programs.
    pub dot_names: Vec<PathText>,
    /// How many more of those there are.
    pub more_dot_names: u64,
    /// Files, folders and links that the sender has found so far.
    pub entries_so_far: u64,
    /// Bytes of contents that the sender has found so far.
    pub bytes_so_far: u64,
    /// Whether that is all.
    pub totals_final: bool,
    /// The folder that it would land in.
    pub destination: PathText,
    /// The drop box here that its sender wants it in, and the path in that, as `SHARE/PATH`. None
    /// if it names no place.
    pub in_share: Option<PathText>,
    /// Whether that is a home folder, which a person has allowed.
    pub is_home: bool,
    /// What there is room for. None if the filesystem could not be asked.
    pub free_space: Option<FreeSpace>,
    /// Why a person is asked although the device's rule accepts.
    pub asked_because: Option<AskedBecause>,
    /// How it compares with what `update` would merge it into. None until its sender lists it.
    pub comparison: Option<Comparison>,
    /// How it compares with what has its own names there, which `replace`, `keep` and `rename` go
    /// by. None if that is the same.
    pub in_place: Option<Comparison>,
    /// The first folders and files there that the same device brought under another name, because
    /// its own was taken, and that `update` would go on with.
    pub updates: Vec<PathText>,
    /// The first new names that `update` would give, because something has the own ones that this
    /// device did not bring.
    pub renamed: Vec<PathText>,
}

impl Offer {
    /// What tells it apart from all others.
    pub fn key(&self) -> TransferKey {
        TransferKey { from: Some(self.from_id), id: self.id }
    }

    /// How it compares with what it would be merged into under that policy.
    pub fn compared_under(&self, on_conflict: OnConflict) -> Option<Comparison> {
        match on_conflict {
            OnConflict::RenameTop => self.comparison,
            OnConflict::Replace | OnConflict::Keep | OnConflict::Rename => self.in_place.or(self.comparison),
        }
    }

    /// What a yes to it as it stands here is given to.
    pub fn size(&self) -> ShownSize {
        ShownSize { bytes: self.bytes_so_far, is_final: self.totals_final }
    }
}

/// Free space in a folder, as its filesystem reports it. These are estimates: compressed, sparse or
/// existing files need less space than their length.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct FreeSpace {
    /// Bytes that may still be written.
    pub free_bytes: u64,
    /// Files and folders that may still be made. None if there is no such limit.
    pub free_entries: Option<u64>,
    /// Bytes that a name may have there. None if that is not known.
    pub name_max: Option<u64>,
    /// Whether this user may make something there.
    pub writable: bool,
    /// Whether files need as much space as they are long.
    pub is_exact: bool,
}
