//! `--json`: one [`Event`] a line on standard output. The model's types are serialised as they are;
//! docs/json.schema.json is generated from them.
//!
//! Text is safe to print: control characters and characters that reorder text are escaped.
mod events;
mod failing;
mod machine;
#[cfg(any(test, feature = "bench"))]
mod measured;
mod offers;
mod running;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod tests;

use std::ffi::OsStr;
use std::fmt::Write;
use std::path::Path;
use std::time::{SystemTime, UNIX_EPOCH};

use ringway_daemon::dto::Moving;
use ringway_engine::{Decision, Device, NearbyDevice, OfferSummary, Past, Transfer, Unfinished};
use ringway_model::{
    AuthError, Consent, DeclineReason, Direction, Edit, Failure, Fault, LookAlike, PastDetails, PathText, Planned,
    Progress, Report, TransferId,
};
use serde::Serialize;
use serde_json::json;

use crate::text::misleads;
use crate::words::{self, Words};

pub(crate) use events::{CheckState, Event};
use failing::EntryFailure;
pub(crate) use failing::WhatFailed;
pub(crate) use machine::{ByItself, Listening, MachineSettings, OpenCode, Service};
#[cfg(feature = "bench")]
pub(crate) use measured::{Conditions, EndOfMode, Figures, Measured, MeasuredState};
pub(crate) use offers::OfferWaits;
use running::{Finished, Remembered, Started};

/// The section of the manual; generated (`npm run json`).
pub(crate) fn help() -> &'static str {
    include_str!("json/manual.txt")
}

/// What a variant without fields is called.
pub(crate) fn name_of(value: impl Serialize) -> String {
    json!(value).as_str().unwrap_or_default().to_owned()
}

/// One line, with control characters and characters that reorder text escaped, so that it can be
/// shown as it is.
pub(crate) fn line(event: &Event<'_>) -> String {
    // Strings and numbers alone are keys and values of events, so that nothing can fail.
    escaped(&serde_json::to_string(event).unwrap_or_default())
}

fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    // Such characters stand only inside of strings: the syntax of JSON has none.
    for c in text.chars() {
        if misleads(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    out
}

/// Paths as they are serialised.
fn paths(paths: &[impl AsRef<OsStr>]) -> Vec<PathText> {
    paths.iter().map(|path| path.as_ref().into()).collect()
}

/// Seconds since 1970; negative before.
pub(crate) fn unix(moment: SystemTime) -> i64 {
    match moment.duration_since(UNIX_EPOCH) {
        Ok(after) => i64::try_from(after.as_secs()).unwrap_or(i64::MAX),
        Err(before) => i64::try_from(before.duration().as_secs()).map_or(i64::MIN, |seconds| -seconds),
    }
}

/// `code`.
pub(crate) fn code(text: Option<&str>, valid_until: Option<SystemTime>) -> Event<'static> {
    Event::Code(OpenCode { code: text.map(str::to_owned), code_valid_until: valid_until.map(unix) })
}

/// `paired`.
pub(crate) fn paired<'a>(device: &'a Device, looks_like: Option<&'a LookAlike>) -> Event<'a> {
    Event::Paired { name: &device.name, id: device.id, looks_like }
}

/// `answered`.
pub(crate) fn answered(id: TransferId, reason: Option<DeclineReason>) -> Event<'static> {
    Event::Answered { id: id.to_string(), accepted: reason.is_none(), reason }
}

/// `planned`.
pub(crate) fn planned(id: TransferId, action: Planned, at: &Path) -> Event<'static> {
    Event::Planned { id, action, at: at.into() }
}

/// `unfinished`.
pub(crate) fn unfinished(left: &Unfinished) -> Event<'_> {
    Event::Unfinished {
        id: &left.id,
        folder: (&left.folder).into(),
        from: left.from.as_deref(),
        names: paths(&left.names),
        more_names: left.more_names,
        files: left.files,
        disk_bytes: left.disk_bytes,
        last_at_work: unix(left.last_used),
        in_use: left.is_in_use,
    }
}

/// `nearby`: what a receiver says about itself. All of it is unproven, except the name that it has
/// here.
pub(crate) fn nearby(device: &NearbyDevice) -> Event<'_> {
    let NearbyDevice { said, addresses, known } = device;
    Event::Nearby {
        name: said.name.as_str(),
        id_begins: said.fingerprint.to_hex(),
        kind: said.kind,
        code_number: said.code,
        version: said.version,
        addresses: addresses.iter().map(ToString::to_string).collect(),
        paired_as: known.as_ref().map(|device| device.name.as_str()),
    }
}

/// `offer`.
pub(crate) fn offer(offer: &OfferSummary) -> Event<'_> {
    let rule = match offer.decision {
        Decision::Ask(_) => Consent::Ask,
        Decision::Accept { .. } => Consent::Accept,
        Decision::Decline => Consent::Refuse,
    };
    Event::Offer {
        offer: offer.into(),
        destination: (&offer.destination).into(),
        rule,
        asked_because: offer.decision.asked_because(),
    }
}

/// `refused`.
pub(crate) fn refused(offer: &OfferSummary) -> Event<'_> {
    Event::Refused(offer.into())
}

/// `device`.
pub(crate) fn device<'a>(device: &'a Device, looks_like: Option<&'a LookAlike>) -> Event<'a> {
    Event::Device {
        name: &device.name,
        id: device.id,
        paired_at: unix(device.paired_at),
        last_seen: device.last_seen.map(unix),
        last_address: device.last_address.as_deref(),
        rule: &device.rule,
        looks_like,
    }
}

/// `started`.
pub(crate) fn started(transfer: &Transfer, progress: &Progress) -> Event<'static> {
    Event::Started(Started::new(transfer, progress))
}

/// `progress`.
pub(crate) fn progress(id: TransferId, progress: &Progress) -> Event<'_> {
    Event::Progress { id, progress }
}

/// `finished`; `words` says why it failed where another message than the usual one is shown. Only a
/// copy is ever a `dry_run`.
pub(crate) fn finished<'a>(transfer: &Transfer, report: &'a Report, words: Option<&Words>, dry_run: bool) -> Event<'a> {
    Event::Finished(Box::new(Finished::new(transfer, report, words, dry_run)))
}

/// `transfer`.
pub(crate) fn transfer(moving: &Moving) -> Event<'_> {
    Event::Transfer(moving.into())
}

/// `past`; with `details`, if it is shown by itself.
pub(crate) fn past<'a>(past: &'a Past, details: Option<&'a PastDetails>) -> Event<'a> {
    Event::Past(Box::new(Remembered::new(past, details)))
}

/// `error`, of a fault.
pub(crate) fn error<'a>(fault: &'a Fault, words: &Words) -> Event<'a> {
    Event::Error(WhatFailed::new(fault, words))
}

/// `error`, of what ended the command early.
pub(crate) fn ended_early<'a>(error: &'a anyhow::Error, words: &Words) -> Event<'a> {
    Event::Error(WhatFailed::ended_early(error, words))
}

/// `auth_failed`.
pub(crate) fn auth_failed<'a>(from: &'a str, why: &'a AuthError, tries_left: Option<u8>) -> Event<'a> {
    Event::AuthFailed { from, why, message: words::pairing_failed(from, why, tries_left), tries_left }
}

/// `entry_failed`.
pub(crate) fn entry_failed(id: TransferId, direction: Direction, failure: &Failure) -> Event<'_> {
    Event::EntryFailed { id, failure: EntryFailure::new(failure, direction) }
}

/// `entry_kept`.
pub(crate) fn entry_kept(id: TransferId, edit: &Edit) -> Event<'_> {
    Event::EntryKept { id, edit }
}
