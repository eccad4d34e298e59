//! How events describe offers.
use ringway_engine::OfferSummary;
use ringway_model::{AskedBecause, DeviceId, LookAlike, PathText, TransferId};
use serde::Serialize;

/// What a device offers.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Offer<'a> {
    /// The transfer's id.
    id: TransferId,
    /// What the device that offers it is called here.
    from: &'a str,
    /// That device's id.
    from_id: DeviceId,
    /// Another paired device whose name looks the same.
    looks_like: Option<&'a LookAlike>,
    /// The first of its top-level names.
    names: Vec<PathText>,
    /// How many more there are.
    more_names: u64,
    /// The first names that begin with a dot.
    dot_names: Vec<PathText>,
    /// How many more of those there are.
    more_dot_names: u64,
    /// Files, folders and links that the sender has found so far.
    entries_so_far: u64,
    /// Bytes of contents that the sender has found so far.
    bytes_so_far: u64,
    /// Whether these are final: nothing more will be found.
    totals_final: bool,
    /// Bytes free at the destination; null if its filesystem could not be asked.
    free_bytes: Option<u64>,
    /// Files and folders for which the destination has room; null if that is unknown or unlimited.
    free_entries: Option<u64>,
    /// Bytes that a name may have at the destination; null if that is unknown.
    name_max: Option<u64>,
    /// Whether the destination can be written to; null if it could not be asked.
    writable: Option<bool>,
}

impl<'a> From<&'a OfferSummary> for Offer<'a> {
    fn from(offer: &'a OfferSummary) -> Self {
        Self {
            id: offer.id,
            from: &offer.from_name,
            from_id: offer.from,
            looks_like: offer.looks_like.as_ref(),
            names: super::paths(&offer.names),
            more_names: offer.more_names,
            dot_names: super::paths(&offer.dot_names),
            more_dot_names: offer.more_dot_names,
            entries_so_far: offer.entries_so_far,
            bytes_so_far: offer.bytes_so_far,
            totals_final: offer.totals_final,
            free_bytes: offer.free_space.map(|free| free.free_bytes),
            free_entries: offer.free_space.and_then(|free| free.free_entries),
            name_max: offer.free_space.and_then(|free| free.name_max),
            writable: offer.free_space.map(|free| free.is_writable),
        }
    }
}

/// An offer that waits for an answer at the service.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct OfferWaits<'a> {
    /// The id of the offer itself, drawn here; its transfer has another one.
    pub(crate) id: &'a str,
    /// What the device that offers it is called here.
    pub(crate) from: &'a str,
    /// The first 16 digits of that device's id.
    pub(crate) from_id_begins: String,
    /// Another paired device whose name looks the same.
    pub(crate) looks_like: Option<&'a LookAlike>,
    /// The first of its top-level names, as text that is safe to show.
    pub(crate) names: &'a [String],
    /// How many more there are.
    pub(crate) more_names: u64,
    /// The first names that begin with a dot, as text that is safe to show.
    pub(crate) dot_names: &'a [String],
    /// How many more of those there are.
    pub(crate) more_dot_names: u64,
    /// Files, folders and links that the sender has found so far.
    pub(crate) entries_so_far: u64,
    /// Bytes of contents that the sender has found so far.
    pub(crate) bytes_so_far: u64,
    /// Whether these are final: nothing more will be found.
    pub(crate) totals_final: bool,
    /// The folder that it would be received into, as text that is safe to show.
    pub(crate) destination: &'a str,
    /// Why a person is asked although the device's rule accepts.
    pub(crate) asked_because: Option<&'a AskedBecause>,
    /// Bytes free at the destination; null if its filesystem could not be asked.
    pub(crate) free_bytes: Option<u64>,
    /// Files and folders for which the destination has room; null if that is unknown or unlimited.
    pub(crate) free_entries: Option<u64>,
    /// Whether the destination can be written to; null if it could not be asked.
    pub(crate) writable: Option<bool>,
}
