//! The events of `--json`. Comments on them and on their fields are what the schema, docs/json.md
//! and the manual say; an event's begins with the commands that write it.
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
    /// `recv`, `code`: The code that is open; by `recv`, where it has changed.
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
        /// Wrong attempts left for this code; null where that is not what failed.
        tries_left: Option<u8>,
    },
    /// `recv`: A paired device offers something.
    Offer {
        #[serde(flatten)]
        offer: Offer<'a>,
        /// The folder that it would land in.
        destination: PathText,
        /// What the device's rule makes of it.
        rule: Consent,
        /// Why somebody is asked although the device's rule accepts.
        asked_because: Option<&'a AskedBecause>,
    },
    /// `recv`: A device whose rule is to refuse has offered something.
    Refused(Offer<'a>),
    /// `recv`, `serve`: An offer was answered, or is gone.
    Answered {
        /// The id of the offer, or of its transfer: as in the event that showed it.
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
    /// `recv`, `send`, `copy`: Where a transfer stands, at most 4 times a second.
    Progress {
        /// The transfer's id.
        id: TransferId,
        #[serde(flatten)]
        progress: &'a Progress,
    },
    /// `recv`, `send`, `copy`: One entry that failed, before `finished`.
    EntryFailed {
        /// The transfer's id.
        id: TransferId,
        #[serde(flatten)]
        failure: EntryFailure<'a>,
    },
    /// `recv`, `send`: A file that was changed at the receiver since it was received, before
    /// `finished`. The receiver keeps it.
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
        /// Where it was last reached or came from.
        last_address: Option<&'a str>,
        /// What its offers meet.
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
        /// What its offers meet.
        rule: &'a DeviceRule,
    },
    /// `devices --nearby`: What a receiver announces, unproven.
    Nearby {
        /// What it calls itself.
        name: &'a str,
        /// The first 16 digits of its id.
        id_begins: String,
        /// What it looks like.
        kind: DeviceKind,
        /// The number that its code begins with; null where none is open.
        code_number: Option<u16>,
        /// The version of the protocol that it speaks.
        version: u16,
        /// Where it is, as `HOST:PORT`.
        addresses: Vec<String>,
        /// The name of the paired device that it would be.
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
    /// `devices forget`: A device is not known here any more.
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
    /// `inbox unfinished`: What a transfer that did not end keeps hidden in its folder.
    Unfinished {
        /// Tells it from others in that folder: 16 digits.
        id: &'a str,
        /// The folder.
        folder: PathText,
        /// What the device that sent it was called; null where nothing says so.
        from: Option<&'a str>,
        /// The first of its top-level names.
        names: Vec<PathText>,
        /// How many more there were.
        more_names: u64,
        /// Regular files that are there, whole or begun.
        files: u64,
        /// Bytes that they take on the disk.
        disk_bytes: u64,
        /// When an attempt was at work in it for the last time, in seconds since 1970.
        last_at_work: i64,
        /// Whether one is now.
        in_use: bool,
    },
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
        /// Whether it runs; if not, nothing else is said.
        running: bool,
        #[serde(flatten)]
        service: Option<Box<Service<'a>>>,
    },
    /// `status`, `offers`, `serve`: An offer that waits for an answer at the service.
    OfferWaits(OfferWaits<'a>),
    /// `status`, `accept`: A transfer that the service has under way.
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
    /// `serve`: Something worth knowing that is no event of a transfer.
    Notice {
        /// What, in English.
        text: &'a str,
    },
    /// `serve`: Other settings hold from now on.
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
    /// `doctor`: A check, and how it turned out.
    Check {
        /// Which check.
        check: &'a str,
        /// How it turned out.
        state: CheckState,
        /// What was found, in English.
        message: &'a str,
        /// What to do about it, where something can be done.
        next: Option<&'a str>,
    },
    /// `bench modes`: Under what everything is measured; the first line.
    #[cfg(any(test, feature = "bench"))]
    Conditions(Conditions<'a>),
    /// `bench modes`: What was measured of a mode.
    #[cfg(any(test, feature = "bench"))]
    Measured(Box<Measured>),
    /// Every command: What ended it, or an accepted offer, without a transfer. By `serve`: why it
    /// does not receive.
    Error(WhatFailed<'a>),
}

/// How a check of `doctor` turned out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
#[serde(rename_all = "snake_case")]
pub(crate) enum CheckState {
    /// As good as it gets.
    Good,
    /// It works, and could be better.
    Note,
    /// Something will not work.
    Problem,
}
