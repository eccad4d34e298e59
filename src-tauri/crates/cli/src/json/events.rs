//! The events of `--json`. The schema, docs/json.md and the manual are made of the comments on
//! events and their fields; the comment of an event begins with the commands that write it.
use ringway_model::{
    AskedBecause, AuthError, Consent, DeclineReason, DeviceId, DeviceKind, DeviceRule, Edit, LookAlike, PathText,
    Planned, Progress, TransferId,
};
use serde::Serialize;

use super::failing::{EntryFailure, WhatFailed};
use super::machine::{Listening, MachineSettings, OpenCode, Service};
#[cfg(any(test, feature = "bench"))]
use super::measured::{Conditions, Measured};
use super::offers::{Offer, OfferWaits};
use super::running::{Finished, Remembered, Started, UnderWay};

/// One line of standard output.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(tag = "event", rename_all = "snake_case")]
pub(crate) enum Event<'a> {
    /// `recv`, `serve`: This device listens.
    Listening(Listening),
    /// `recv`, `code`: The open code. `recv` writes it whenever it changes.
    Code(OpenCode),
    /// `recv`, `pair`, `serve`: A device was paired.
    Paired {
        /// What it is called here.
        name: &'a str,
        /// Its id.
        id: DeviceId,
        /// Another paired device whose name looks the same.
        looks_like: Option<&'a LookAlike>,
    },
    /// `recv`, `serve`: A device failed to pair, or to be recognised.
    AuthFailed {
        /// The address that it came from.
        from: &'a str,
        /// Why.
        #[serde(flatten)]
        why: &'a AuthError,
        /// Why, in English.
        message: String,
        /// Wrong attempts left for this code; null if something else failed.
        tries_left: Option<u8>,
    },
    /// `recv`: A paired device offers something.
    Offer {
        #[serde(flatten)]
        offer: Offer<'a>,
        /// The folder that it would be received into.
        destination: PathText,
        /// What the device's rule says about it.
        rule: Consent,
        /// Why a person is asked although the device's rule accepts.
        asked_because: Option<&'a AskedBecause>,
    },
    /// `recv`: A device whose rule is to refuse has offered something.
    Refused(Offer<'a>),
    /// `recv`, `serve`: An offer was answered, or was withdrawn.
    Answered {
        /// The id of the offer, or of its transfer, as in the event that showed it.
        id: String,
        /// Whether it was accepted.
        accepted: bool,
        /// By `recv`: why it was declined.
        #[serde(flatten)]
        reason: Option<DeclineReason>,
    },
    /// `recv`, `send`, `copy`, `serve`: Bytes begin to move.
    Started(Started),
    /// `copy --dry-run`: What a real run would do with an entry.
    Planned {
        /// The copy's id.
        id: TransferId,
        /// What it would do.
        action: Planned,
        /// The entry at the destination.
        #[serde(flatten)]
        at: PathText,
    },
    /// `recv`, `send`, `copy`: The state of a transfer, at most 4 times a second.
    Progress {
        /// The transfer's id.
        id: TransferId,
        #[serde(flatten)]
        progress: &'a Progress,
    },
    /// `recv`, `send`, `copy`: An entry that failed. Comes before `finished`.
    EntryFailed {
        /// The transfer's id.
        id: TransferId,
        #[serde(flatten)]
        failure: EntryFailure<'a>,
    },
    /// `recv`, `send`: A file that was changed at the receiver after it was received, and that the
    /// receiver keeps. Comes before `finished`.
    EntryKept {
        /// The transfer's id.
        id: TransferId,
        #[serde(flatten)]
        edit: &'a Edit,
    },
    /// `recv`, `send`, `copy`, `serve`: A transfer has ended.
    Finished(Box<Finished<'a>>),
    /// `devices`: A paired device.
    Device {
        /// What it is called here.
        name: &'a str,
        /// Its id.
        id: DeviceId,
        /// When it was paired, in seconds since 1970.
        paired_at: i64,
        /// When it was last seen, in seconds since 1970.
        last_seen: Option<i64>,
        /// The address at which it was last reached, or from which it last connected.
        last_address: Option<&'a str>,
        /// What happens to its offers.
        rule: &'a DeviceRule,
        /// Another paired device whose name looks the same.
        looks_like: Option<&'a LookAlike>,
    },
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
    Nearby {
        /// What it calls itself.
        name: &'a str,
        /// The first 16 digits of its id.
        id_begins: String,
        /// The kind of machine that it says it is.
        kind: DeviceKind,
        /// The number that its code begins with; null where none is open.
        code_number: Option<u16>,
        /// The version of the protocol that it speaks.
        version: u16,
        /// Its addresses, as `HOST:PORT`.
        addresses: Vec<String>,
        /// The name here of the paired device that has this id.
        paired_as: Option<&'a str>,
    },
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
    /// `inbox`: A transfer of the history.
    Past(Box<Remembered<'a>>),
    /// `inbox forget`, `inbox clear`: Transfers were removed from the history.
    PastForgotten {
        /// How many.
        transfers: u64,
    },
    /// `inbox unfinished`: Hidden files that an unfinished transfer keeps in its folder.
    Unfinished {
        /// Its id, unique in that folder: 16 digits.
        id: &'a str,
        /// The folder.
        folder: PathText,
        /// The name of the device that sent it; null if it is not known.
        from: Option<&'a str>,
        /// The first of its top-level names.
        names: Vec<PathText>,
        /// How many more there were.
        more_names: u64,
        /// Regular files that it keeps, complete or not.
        files: u64,
        /// Bytes that they take on the disk.
        disk_bytes: u64,
        /// When an attempt last worked on it, in seconds since 1970.
        last_at_work: i64,
        /// Whether an attempt is working on it now.
        in_use: bool,
    },
    /// `inbox discard`: The hidden files of an unfinished transfer were removed.
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
    OfferWaits(OfferWaits<'a>),
    /// `status`, `accept`: A transfer that the service runs.
    Transfer(UnderWay<'a>),
    /// `decline`: An offer is declined.
    Declined {
        /// The offer's id.
        id: &'a str,
    },
    /// `cancel`: A transfer is cancelled.
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
    /// `serve`: The settings have changed.
    SettingsChanged {
        /// What this device is called.
        name: &'a str,
        /// The port that the service listens at.
        port: u16,
        /// The folder that it receives into.
        destination: PathText,
        /// Whether that is a home folder.
        is_home: bool,
        /// Whether the service receives.
        receiving: bool,
    },
    /// `recv`, `send`, `serve`: The program ends.
    Stopping {
        /// Transfers that had not ended: the same send again continues them.
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

/// The result of a check of `doctor`.
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
