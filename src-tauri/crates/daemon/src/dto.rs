//! What crosses to windows and commands beyond the model's nouns: what composes several of them,
//! and what only a window has.
#![expect(missing_docs, reason = "what a field's name says already is not said again: the bindings show both")]
mod about;
mod browsing;
mod choice;
mod copying;
mod given_path;
mod machine;
mod nearby;
mod settings;
mod unfinished;

use ringway_engine::Remembered;
use ringway_model::{
    AfterFailure, Comparison, Device, DeviceId, Difference, Fault, LookAlike, Note, NoteText, Offer, OpenCode,
    PairingRequest, Past, Progress, Remedy, Report, SeriesPoint, SettingsInForce, Text, TransferId, TransferStatus,
    TurnedAway, UnderWay,
};
use serde::{Deserialize, Serialize};

pub use about::About;
pub use browsing::{ListingPage, PathThere, PickedThere, UnreadThere};
pub use choice::{Chosen, ChosenSize, ChosenSource, ItemSize, MergedSource, Sent, SizeState, SourceKind, Waiting};
pub use copying::CopyFolder;
pub use given_path::GivenPath;
pub use machine::Machine;
pub use nearby::Nearby;
pub use settings::{Means, SendLimit, SettingsChange, StartAtLogin};
pub use unfinished::UnfinishedList;

/// A paired device, as the window lists it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
pub struct PairedDevice {
    #[serde(flatten)]
    pub device: Device,
    /// Another paired device whose name looks the same.
    pub looks_like: Option<LookAlike>,
    /// The latest transfer with it that ended and is remembered.
    pub last_transfer: Option<Past>,
}

/// A past transfer, as the window lists it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
pub struct Earlier {
    #[serde(flatten)]
    pub past: Past,
    /// How it ended, and what a person can do about it.
    pub status: TransferStatus,
    /// What became of it when the same was transferred later, if it did not bring everything.
    pub after: Option<AfterFailure>,
}

impl From<Remembered> for Earlier {
    fn from(remembered: Remembered) -> Self {
        let status = TransferStatus::past(&remembered.past);
        let status = if remembered.can_be_repeated() { status } else { status.never_again() };
        Self { status, after: remembered.after, past: remembered.past }
    }
}

/// Whether and where this device listens.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(tag = "is", rename_all = "snake_case")]
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

/// The target of a send.
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
    /// A receiver that had announced itself at an address, by the beginning of its id: whatever
    /// else is there now is not meant.
    Announced { id: String, at: String },
}

/// A transfer as the window lists it.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
pub struct Moving {
    #[serde(flatten)]
    pub transfer: UnderWay,
    /// Its state, and what a person can do about it.
    pub status: TransferStatus,
    /// What it has done so far, for those who see it late.
    pub series: Vec<SeriesPoint>,
    /// Once it has ended.
    pub report: Option<Report>,
}

/// How an offer that was accepted compared with its folder before it was received.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
pub struct ComparedBefore {
    pub comparison: Comparison,
    /// The entries that differed, at most 1,000.
    pub differences: Vec<Difference>,
}

/// What the picker should pick.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(rename_all = "camelCase")]
pub enum Pick {
    Folders,
    Files,
}

/// What was sent before, chosen once more.
#[derive(Debug, Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
pub struct Again {
    pub chosen: Chosen,
    pub target: Recipient,
    /// What to call it.
    pub label: Text,
    /// Whether it was to be verified.
    pub verify: bool,
    /// What was left out: patterns as in a .gitignore file, one a line.
    pub leave_out: String,
    /// The place in a drop box there where it was to land, as `SHARE/PATH`.
    pub in_share: Option<String>,
}

/// Everything the window shows, at its start.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
pub struct Everything {
    /// This device's id. Its name is one of the settings.
    pub device_id: DeviceId,
    pub settings: SettingsInForce,
    /// False until settings were stored for the first time.
    pub is_set_up: bool,
    pub default_port: u16,
    /// Wrong attempts after which a code is void.
    pub code_attempts_max: u8,
    pub machine: Machine,
    pub devices: Vec<PairedDevice>,
    pub nearby: Vec<Nearby>,
    pub listening: Listening,
    /// Devices that want to pair and have no code, the one that waits longest first.
    pub requests: Vec<PairingRequest>,
    pub offers: Vec<Offer>,
    pub transfers: Vec<Moving>,
    /// In the order in which they begin.
    pub waiting: Vec<Waiting>,
    /// The notes that were received, the latest first.
    pub notes: Vec<Note>,
}

/// The text of a note.
#[derive(Clone, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
pub struct NoteContents {
    /// To be shown: what could mislead is escaped.
    pub shown: String,
    /// To be copied: exactly what was sent.
    pub text: NoteText,
}

/// Something dragged over the window. Positions are from its top left corner, in CSS pixels: GTK
/// counts widget pixels.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "bindings", derive(specta::Type))]
#[serde(tag = "is", rename_all = "camelCase")]
pub enum Drag {
    Entered {
        chosen: Chosen,
    },
    /// A text or an address, not files.
    TextEntered {
        text: String,
    },
    Over {
        x: i32,
        y: i32,
    },
    Dropped {
        chosen: Chosen,
        x: i32,
        y: i32,
    },
    TextDropped {
        text: String,
        x: i32,
        y: i32,
    },
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
        settings: SettingsInForce,
    },
    DevicesChanged {
        devices: Vec<PairedDevice>,
    },
    NearbyChanged {
        nearby: Vec<Nearby>,
    },
    DevicePaired {
        device: Box<Device>,
    },
    /// The devices that want to pair and have no code, all of them.
    RequestsChanged {
        requests: Vec<PairingRequest>,
    },
    PairingFailed {
        failed: TurnedAway,
    },
    OfferChanged {
        offer: Box<Offer>,
    },
    /// A person looks at this offer: it comes first.
    OfferPicked {
        id: TransferId,
    },
    OfferGone {
        id: TransferId,
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
    /// A note has arrived. The list of all follows.
    NoteReceived {
        note: Box<Note>,
    },
    /// A device has sent a note that could not be kept: why, or none if too many are unread.
    NoteLost {
        from: Text,
        from_id: DeviceId,
        why: Option<Fault>,
    },
    /// The notes, all of them, the latest first.
    NotesChanged {
        notes: Vec<Note>,
    },
    /// The folders that this device shares, or who may read them, were changed by a program that
    /// uses the service.
    SharesChanged,
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
    Moved {
        progress: Box<Progress>,
        status: TransferStatus,
    },
    /// `series` is its course as the history has it.
    Ended {
        progress: Box<Progress>,
        report: Box<Report>,
        status: TransferStatus,
        series: Vec<SeriesPoint>,
    },
}
