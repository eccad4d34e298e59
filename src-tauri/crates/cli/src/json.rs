//! `--json`: one [`Event`] a line on standard output. The model's types are serialised as they are;
//! docs/json.schema.json is generated from them.
//!
//! Text is safe to print: what is a control or reorders text is escaped.
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

use ringway_engine::{Device, NearbyDevice, Unfinished};
use ringway_model::{DeclineReason, LookAlike, PathText, Planned, TransferId};
use serde::Serialize;
use serde_json::json;

use crate::text::misleads;

pub(crate) use events::{CheckState, Event};
pub(crate) use failing::{WhatFailed, auth_failed, ended_early, entry_failed, entry_kept, error};
pub(crate) use machine::{ByItself, Listening, MachineSettings, OpenCode, Service};
#[cfg(feature = "bench")]
pub(crate) use measured::{Conditions, EndOfMode, Figures, Measured, MeasuredState};
pub(crate) use offers::{OfferWaits, device, offer, refused};
pub(crate) use running::{finished, past, progress, started, transfer};

/// The section of the manual; generated (`npm run json`).
pub(crate) fn help() -> &'static str {
    include_str!("json/manual.txt")
}

/// What a variant without fields is called.
pub(crate) fn name_of(value: impl Serialize) -> String {
    json!(value).as_str().unwrap_or_default().to_owned()
}

/// One line: what is a control or would reorder text is escaped, so that the line can be shown as
/// it is.
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

/// `nearby`: what a receiver says of itself, all of it unproven but for the name that it is known
/// by here.
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
