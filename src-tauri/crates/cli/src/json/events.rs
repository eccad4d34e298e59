//! The events of `--json`. The schema, docs/json.md and the manual are made of the comments on
//! events and their fields; the comment of an event begins with the commands that write it.
use ringway_model::{
    Consent, DeclineReason, Device, DeviceId, DeviceRule, Difference, Edit, EntryThere, LookAlike, NearbyDevice, Note,
    NoteText, Offer, OpenCode, PairingRequest, PathText, Planned, Progress, SettingsInForce, Share, ShareName,
    ShareThere, ShareTrouble, Text, TransferId, TurnedAway, UnderWay, Unfinished,
};
use serde::Serialize;

use super::failing::{EntryFailure, WhatFailed};
use super::machine::{Listening, MachineSettings, Service};
#[cfg(any(test, feature = "bench"))]
use super::measured::{Conditions, Measured};
use super::running::{Finished, Remembered, Started};

/// One line of standard output.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Event<'a> {
    /// `recv`, `serve`: This device listens.
    Listening(Listening),
    /// `recv`, `code`, `allow`: The open code. `recv` writes it whenever it changes.
    Code(OpenCode),
    /// `recv`, `pair`, `serve`: A device was paired.
    Paired(Known<'a>),
    /// `recv`, `serve`, `status`, `offers`: A device wants to pair and has no code. It gets nothing
    /// by that.
    PairingRequested(&'a PairingRequest),
    /// `recv`, `serve`: A device failed to pair, or to be recognised.
    AuthFailed {
        #[serde(flatten)]
        failed: &'a TurnedAway,
        /// Why, in English.
        message: String,
    },
    /// `recv`: A paired device offers something.
    Offer {
        #[serde(flatten)]
        offer: &'a Offer,
        /// What the device's rule makes of it.
        rule: Consent,
    },
    /// `recv`: A device whose rule is to refuse has offered something.
    Refused(&'a Offer),
    /// `recv`, `serve`: An offer was answered, or is gone.
    Answered {
        /// The id of the offer, or of its transfer, as in the event that showed it.
        id: String,
        /// Whether it was accepted.
        accepted: bool,
        /// By `recv`: why it was declined.
        #[serde(flatten)]
        reason: Option<DeclineReason>,
    },
    /// `recv`, `send`, `get`, `copy`, `serve`: Bytes begin to move.
    Started(Started),
    /// `copy --dry-run`, `send --dry-run`, `get --dry-run`: What a real run would do with an entry.
    Planned {
        /// The transfer's id.
        id: TransferId,
        /// What it would do.
        action: Planned,
        /// The entry at the destination; by `send`, in the transfer.
        #[serde(flatten)]
        at: PathText,
    },
    /// `recv`, `send`, `get`, `copy`: The state of a transfer, at most 4 times a second.
    Progress {
        /// The transfer's id.
        id: TransferId,
        #[serde(flatten)]
        progress: &'a Progress,
    },
    /// `recv`, `send`, `get`, `copy`: An entry that failed. Comes before `finished`.
    EntryFailed {
        /// The transfer's id.
        id: TransferId,
        #[serde(flatten)]
        failure: EntryFailure<'a>,
    },
    /// `recv`, `send`, `get`: A file that was changed at the receiver after it was received, and
    /// that the receiver keeps. Comes before `finished`.
    EntryKept {
        /// The transfer's id.
        id: TransferId,
        #[serde(flatten)]
        edit: &'a Edit,
    },
    /// `recv`, `send`, `get`, `copy`, `serve`: A transfer has ended.
    Finished(Box<Finished<'a>>),
    /// `devices`: A paired device.
    Device(Listed<'a>),
    /// `devices rule`: A device's rule.
    Rule {
        /// The device's id.
        id: DeviceId,
        /// What the device is called here.
        name: &'a str,
        /// What happens to its offers.
        rule: &'a DeviceRule,
    },
    /// `devices --nearby`: What a receiver announces, unproven.
    Nearby(&'a NearbyDevice),
    /// `devices rename`: A device has another name here.
    Renamed {
        /// Its id.
        id: DeviceId,
        /// What it was called.
        old: &'a str,
        /// What it is called.
        name: &'a str,
    },
    /// `devices forget`: A device was forgotten.
    Forgotten {
        /// Its id.
        id: DeviceId,
        /// What it was called.
        name: &'a str,
    },
    /// `share add`, `share list`: A shared folder.
    Share(&'a Share),
    /// `share remove`: A folder is shared no longer.
    Unshared {
        /// The name of the share.
        name: &'a str,
    },
    /// `ls` of a device: A folder that it shares with this one.
    ShareThere(&'a ShareThere),
    /// `ls` of a share: An entry. What could not be read comes as `error`.
    Entry(&'a EntryThere),
    /// `inbox`: A transfer of the history.
    Past(Box<Remembered<'a>>),
    /// `inbox forget`, `inbox clear`: Transfers were removed from the history.
    PastForgotten {
        /// How many.
        transfers: u64,
    },
    /// `recv`, `serve`, `notes`, `status`: A note that was received; by `status`, one that is
    /// unread. Its text is in `note_text`.
    Note(&'a Note),
    /// `notes show`: A note with its text.
    NoteText {
        #[serde(flatten)]
        note: &'a Note,
        /// The exact text. What could mislead at a terminal is written as JSON escapes.
        text: &'a NoteText,
    },
    /// `send --text`: A note is kept at the other device.
    NoteSent {
        /// The device's id.
        peer_id: DeviceId,
        /// What the device is called here.
        peer: Text,
        /// How long the note is.
        bytes: u64,
    },
    /// `notes forget`, `notes clear`, `inbox clear`: Notes were deleted.
    NotesForgotten {
        /// How many.
        notes: u64,
    },
    /// `inbox unfinished`: What a transfer that did not end keeps hidden in its folder.
    Unfinished(&'a Unfinished),
    /// `inbox discard`: What an unfinished transfer kept was removed.
    Discarded {
        /// Its id, as in `unfinished`.
        id: &'a str,
        /// Bytes that it took on the disk.
        disk_bytes: u64,
    },
    /// `settings`: This machine's settings.
    Settings(MachineSettings<'a>),
    /// `status`: The service.
    Service {
        /// Whether it runs; if not, the event has no other fields.
        running: bool,
        #[serde(flatten)]
        service: Option<Box<Service<'a>>>,
    },
    /// `status`, `offers`, `serve`: An offer that waits for an answer at the service.
    OfferWaits(&'a Offer),
    /// `offers` with an offer: An entry of that offer that differs from the one in its folder.
    Difference(&'a Difference),
    /// `status`, `accept`: A transfer that the service has under way.
    Transfer(&'a UnderWay),
    /// `status`: A transfer that waits until another one to the same device has ended.
    TransferWaits {
        /// Its id while it waits, for `cancel`.
        id: &'a str,
        /// The device's id.
        peer_id: DeviceId,
        /// What the device is called here.
        peer: &'a Text,
        /// The name of what is sent, the first one of several.
        title: &'a PathText,
        /// How many names follow it.
        more_names: u64,
    },
    /// `decline`: An offer is declined.
    Declined {
        /// The offer's id.
        id: &'a str,
    },
    /// `allow`: A device may try the code.
    PairingAllowed {
        /// The device's id.
        id: DeviceId,
    },
    /// `dismiss`: A device's wish to connect is not shown for a while.
    PairingDismissed {
        /// The device's id.
        id: DeviceId,
    },
    /// `block`: A device's wish to connect is not shown any more.
    PairingBlocked {
        /// The device's id.
        id: DeviceId,
    },
    /// `block --undo`: A device's wish to connect is shown again.
    PairingUnblocked {
        /// The device's id.
        id: DeviceId,
    },
    /// `cancel`: A transfer is cancelled, or one that waited does not begin.
    Cancelled {
        /// The transfer's id.
        id: &'a str,
    },
    /// `pause`: A transfer is paused.
    Paused {
        /// The transfer's id.
        id: &'a str,
    },
    /// `resume`: A transfer is resumed.
    Resumed {
        /// The transfer's id.
        id: &'a str,
    },
    /// `serve`: Something worth knowing that is not an event of a transfer.
    Notice {
        /// The text, in English.
        text: &'a str,
    },
    /// `serve`: Other settings hold from now on.
    SettingsChanged(&'a SettingsInForce),
    /// `recv`, `send`, `get`, `serve`: The program ends.
    Stopping {
        /// Transfers that had not ended: the same again continues them.
        left: u64,
    },
    /// `stop`: The service has ended.
    Stopped,
    /// `doctor`: A check and its result.
    Check {
        /// Which check.
        check: &'a str,
        /// Its result.
        state: CheckState,
        /// What was found, in English.
        message: &'a str,
        /// What to do about it, if something can be done.
        next: Option<&'a str>,
    },
    /// `bench modes`: The conditions of all measurements; the first line.
    #[cfg(any(test, feature = "bench"))]
    Conditions(Conditions<'a>),
    /// `bench modes`: The measurements of a mode.
    #[cfg(any(test, feature = "bench"))]
    Measured(Box<Measured>),
    /// Every command: Why the command, or an accepted offer, ended without a transfer. By `serve`:
    /// why it does not receive.
    Error(WhatFailed<'a>),
}

/// A paired device.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Known<'a> {
    #[serde(flatten)]
    pub(super) device: &'a Device,
    /// Another paired device whose name looks the same.
    pub(super) looks_like: Option<&'a LookAlike>,
}

/// A paired device, with what is shared with it.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Listed<'a> {
    #[serde(flatten)]
    pub(super) known: Known<'a>,
    /// The shares that are shared with it.
    pub(super) shares: Vec<MayRead<'a>>,
}

/// A share of this machine that is shared with a device.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MayRead<'a> {
    /// Its name.
    pub(super) name: &'a ShareName,
    /// Whether it is a drop box: the device may also send into it.
    pub(super) drop: bool,
    /// Why it cannot be read now; none if it can.
    pub(super) unavailable: Option<ShareTrouble>,
    /// Why nothing can be sent into this drop box now, though it can be read; none otherwise.
    pub(super) drop_trouble: Option<ShareTrouble>,
    /// Whether the device may not send into this drop box, because its rule is to refuse. It may
    /// read the share all the same.
    pub(super) refused: bool,
}

/// How a check of `doctor` turned out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum CheckState {
    /// Nothing could be better.
    Good,
    /// It works, but could be better.
    Note,
    /// Something will not work.
    Problem,
}
