//! What crosses to the front end: the engine's types as serde sees them, every text already safe to
//! show.
#![expect(missing_docs, reason = "what a field's name says already is not said again: the bindings show both")]
mod about;
mod choice;
mod copying;
mod given_path;
mod machine;
mod nearby;
mod past;
mod settings;
mod unfinished;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use ringway_engine::{Device, FreeSpace, OfferSummary, Past, ThisDevice, Transfer};
use ringway_model::{
    AskedBecause, DeviceRule, Direction, Fault, LookAlike, Progress, Remedy, Report, SeriesPoint, ShownSize,
    TransferStatus,
};
use serde::{Deserialize, Serialize};

use crate::text::{shown, shown_text};
pub use about::About;
pub use choice::{Chosen, ChosenSize, ChosenSource, ItemSize, MergedSource, Sent, SizeState, SourceKind, Waiting};
pub use copying::CopyFolder;
pub use given_path::GivenPath;
pub use machine::Machine;
pub use nearby::Nearby;
pub use past::{Again, Asked, Earlier, LastTransfer};
pub use settings::{SendLimit, SettingsChange, StartAtLogin, StoredSettings};
pub use unfinished::Unfinished;

/// Milliseconds since 1970; 0 for anything before.
pub fn unix_ms(time: SystemTime) -> u64 {
    time.duration_since(UNIX_EPOCH).map_or(0, whole_ms)
}

fn whole_ms(time: Duration) -> u64 {
    u64::try_from(time.as_millis()).unwrap_or(u64::MAX)
}

/// This device.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub struct OwnDevice {
    pub name: String,
    /// What people compare: 16 hex digits in groups.
    pub short_id: String,
}

impl From<ThisDevice> for OwnDevice {
    fn from(device: ThisDevice) -> Self {
        Self { name: shown_text(&device.name), short_id: device.id.short() }
    }
}

/// A paired device.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub struct PairedDevice {
    /// The whole id in hex: what commands take.
    pub id: String,
    pub short_id: String,
    pub name: String,
    /// Another paired device whose name looks the same.
    pub looks_like: Option<LookAlike>,
    pub paired_at_ms: u64,
    pub last_seen_ms: Option<u64>,
    pub last_address: Option<String>,
    /// The latest one with it that ended and is remembered.
    pub last_transfer: Option<LastTransfer>,
    pub rule: DeviceRule,
}

impl PairedDevice {
    pub(crate) fn new(device: &Device, looks_like: Option<&LookAlike>, last: Option<&Past>) -> Self {
        Self {
            id: device.id.to_string(),
            short_id: device.id.short(),
            name: shown_text(&device.name),
            looks_like: looks_like.cloned(),
            paired_at_ms: unix_ms(device.paired_at),
            last_seen_ms: device.last_seen.map(unix_ms),
            last_address: device.last_address.as_deref().map(shown_text),
            last_transfer: last.map(LastTransfer::from),
            rule: device.rule.clone(),
        }
    }
}

/// The code that is open. It has no Debug: it is a secret while it lasts.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub struct OpenCode {
    /// None where a standing secret is in force.
    pub text: Option<String>,
    pub valid_until_ms: Option<u64>,
}

/// Whether and where this device listens.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(tag = "is", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum Listening {
    /// Not yet, or not any more.
    Off {
        /// Why it could not be switched on when somebody last wanted that.
        refused: Option<Fault>,
    },
    /// Listening.
    On {
        /// What others type, one for each address of this machine.
        addresses: Vec<String>,
        port: u16,
        /// The port was chosen for this run, not by the settings.
        other_port: bool,
        code: Option<OpenCode>,
        /// What lets its port in, for each firewall that is on here, as long as nobody has come
        /// from elsewhere.
        firewalls: Vec<Remedy>,
    },
    /// It cannot, and why.
    Failed { fault: Fault, port: u16 },
}

/// To whom something is to be sent.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(tag = "to", rename_all = "camelCase", deny_unknown_fields)]
pub enum Recipient {
    /// A paired device, by its whole id.
    Device { id: String },
    /// A receiver that announces itself, by its id in the list of those.
    Nearby { id: String },
    /// What a person typed: a device's name or id, or an address.
    Typed { text: String },
    /// The paired device that answered at an address that was typed, which a person has said yes
    /// to.
    Confirmed { id: String, text: String },
    /// A receiver that had announced itself at an address, by the beginning of its id: whoever else
    /// is there now is not meant.
    Announced { id: String, at: String },
}

/// An offer that waits for an answer.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub struct Offer {
    /// Drawn here for this offer alone, whatever its transfer's id is.
    pub id: String,
    pub from: String,
    pub from_short_id: String,
    /// Another paired device whose name looks like the sender's.
    pub looks_like: Option<LookAlike>,
    pub names: Vec<String>,
    pub more_names: u64,
    /// The first of all names that begin with a dot, and how many more there are.
    pub dot_names: Vec<String>,
    pub more_dot_names: u64,
    pub entries_so_far: u64,
    pub bytes_so_far: u64,
    pub totals_final: bool,
    /// Where it would land, for showing.
    pub folder: String,
    /// Whether that is a home, which somebody has allowed.
    pub is_home: bool,
    /// What there is room for there.
    pub room: Option<RoomThere>,
    /// Why somebody is asked in spite of its device's rule; none where that is the rule.
    pub asked_because: Option<AskedBecause>,
}

/// What a folder has room for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub struct RoomThere {
    pub free_bytes: u64,
    /// Files and folders that may still be made; none where there is no limit.
    pub free_entries: Option<u64>,
    /// Whether something may be made there.
    pub writable: bool,
    /// Bytes that a name may have there, where one of those that are offered has more.
    pub names_at_most: Option<u64>,
}

impl RoomThere {
    /// As it is for what is offered.
    pub fn new(free: FreeSpace, summary: &OfferSummary) -> Self {
        let too_long = |max: &u64| summary.names.iter().any(|name| name.len() as u64 > *max);
        Self {
            free_bytes: free.free_bytes,
            free_entries: free.free_entries,
            writable: free.is_writable,
            names_at_most: free.name_max.filter(too_long),
        }
    }
}

impl Offer {
    pub fn new(id: String, summary: &OfferSummary, folder: String, is_home: bool) -> Self {
        Self {
            id,
            from: shown_text(&summary.from_name),
            from_short_id: summary.from.short(),
            looks_like: summary.looks_like.clone(),
            names: summary.names.iter().map(shown).collect(),
            more_names: summary.more_names,
            dot_names: summary.dot_names.iter().map(shown).collect(),
            more_dot_names: summary.more_dot_names,
            entries_so_far: summary.entries_so_far,
            bytes_so_far: summary.bytes_so_far,
            totals_final: summary.totals_final,
            folder,
            is_home,
            room: summary.free_space.map(|free| RoomThere::new(free, summary)),
            asked_because: summary.decision.asked_because().cloned(),
        }
    }

    /// What a yes to it as it stands here is given to.
    pub fn size(&self) -> ShownSize {
        ShownSize { bytes: self.bytes_so_far, is_final: self.totals_final }
    }
}

/// A transfer as the window lists it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub struct Moving {
    pub id: String,
    pub direction: Direction,
    pub title: String,
    pub more_titles: u64,
    /// What the person gave as the target; the folder of a copy; empty when receiving.
    pub target: String,
    pub started_at_ms: u64,
    pub progress: Progress,
    /// Its state, and what a person can do about it.
    pub status: TransferStatus,
    /// What it has done so far, for those who see it late.
    pub series: Vec<SeriesPoint>,
    /// Once it has ended.
    pub report: Option<Report>,
}

impl Moving {
    pub fn new(id: &str, transfer: &Transfer, target: &str, started_at: SystemTime, report: Option<Report>) -> Self {
        let (title, more_titles) = transfer.title();
        let (direction, progress) = (transfer.direction(), transfer.progress());
        Self {
            id: id.to_owned(),
            status: TransferStatus::of(direction, &progress, report.as_ref()),
            direction,
            title: shown(title),
            more_titles,
            target: shown_text(target),
            started_at_ms: unix_ms(started_at),
            progress,
            series: transfer.series(),
            report,
        }
    }
}

/// What the picker should pick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub enum Pick {
    Folders,
    Files,
}

/// Everything the window shows, at its start.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub struct Everything {
    pub device: OwnDevice,
    pub settings: StoredSettings,
    /// False until settings were stored for the first time.
    pub is_set_up: bool,
    pub default_port: u16,
    /// Wrong tries after which a code is void.
    pub code_tries_max: u8,
    pub machine: Machine,
    pub devices: Vec<PairedDevice>,
    pub nearby: Vec<Nearby>,
    pub listening: Listening,
    pub offers: Vec<Offer>,
    pub transfers: Vec<Moving>,
    /// In the order in which they begin.
    pub waiting: Vec<Waiting>,
}

/// Something dragged over the window. Positions are from its top left corner, in CSS pixels: GTK
/// counts widget pixels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(tag = "is", rename_all = "camelCase")]
pub enum Drag {
    Entered { chosen: Chosen },
    Over { x: i32, y: i32 },
    Dropped { chosen: Chosen, x: i32, y: i32 },
    Left,
}

/// A view that the window can be asked for from outside.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub enum View {
    Send,
    Inbox,
}

/// How an offer left those that wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub enum Left {
    /// It was accepted.
    Accepted,
    /// It was declined here, or its destination could not be used.
    Declined,
    /// It was declined because receiving was switched off or moved to another port: it could not be
    /// received any more as it was shown.
    Overtaken,
    /// Its sender took it back or went, or nobody answered in time.
    Withdrawn,
}

/// What happens while the window is open, in order.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(tag = "event", rename_all = "camelCase", rename_all_fields = "camelCase")]
pub enum AppEvent {
    ListeningChanged {
        listening: Listening,
    },
    SettingsChanged {
        settings: StoredSettings,
    },
    DevicesChanged {
        devices: Vec<PairedDevice>,
    },
    NearbyChanged {
        nearby: Vec<Nearby>,
    },
    DevicePaired {
        name: String,
    },
    PairingFailed {
        from: String,
        fault: Fault,
        tries_left: Option<u8>,
    },
    OfferChanged {
        offer: Box<Offer>,
    },
    OfferGone {
        id: String,
        how: Left,
    },
    TransferStarted {
        transfer: Box<Moving>,
    },
    /// How large a choice is, whose items are being counted for this client: items whose size has
    /// changed since this was told last, and all together.
    ChosenCounted {
        chosen: u32,
        sizes: Vec<ItemSize>,
        total: ChosenSize,
    },
    /// What waits for its turn, all of it.
    WaitingChanged {
        waiting: Vec<Waiting>,
    },
    Dragged {
        drag: Drag,
    },
    /// Somebody opened the window from outside: with something to send, or to see a view.
    Opened {
        chosen: Option<Chosen>,
        view: Option<View>,
    },
    /// The service has gone, or cannot be reached.
    ServiceLost {
        fault: Fault,
    },
    /// The service is there again: everything is to be asked for anew.
    ServiceFound,
}

/// What a transfer's own channel carries.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(tag = "is", rename_all = "camelCase")]
pub enum Update {
    Moved { progress: Box<Progress>, status: TransferStatus },
    Ended { progress: Box<Progress>, report: Box<Report>, status: TransferStatus },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_before_1970_are_zero() {
        assert_eq!(unix_ms(UNIX_EPOCH - Duration::from_secs(5)), 0);
        assert_eq!(unix_ms(UNIX_EPOCH + Duration::from_millis(1_500)), 1_500);
    }
}
