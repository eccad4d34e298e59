//! `--json`: one [`Event`] a line on standard output. The model's types are serialised as they are;
//! docs/json.schema.json is generated from them.
//!
//! Text is safe to print: control characters and characters that reorder text are escaped.
mod events;
mod failing;
mod machine;
#[cfg(any(test, feature = "bench"))]
mod measured;
mod running;
#[cfg(test)]
mod schema;
#[cfg(test)]
mod tests;

use std::fmt::Write;
use std::path::Path;

use ringway_daemon::dto::{Moving, Waiting};
use ringway_engine::{Decision, Transfer};
use ringway_model::{
    Consent, DeclineReason, Device, Direction, Edit, Failure, Fault, LookAlike, Offer, OpenCode, Past, PastDetails,
    Planned, Progress, Report, Share, TransferId, TurnedAway,
};
use serde::Serialize;
use serde_json::json;

use crate::text::misleads;
use crate::words::{self, Words};

pub(crate) use events::{CheckState, Event};
use events::{Known, Listed, MayRead};
use failing::EntryFailure;
pub(crate) use failing::WhatFailed;
pub(crate) use machine::{ByItself, Listening, MachineSettings, Service};
#[cfg(feature = "bench")]
pub(crate) use measured::{Conditions, EndOfMode, Figures, Measured, MeasuredState};
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

/// `code`.
pub(crate) fn code(open: OpenCode) -> Event<'static> {
    Event::Code(open)
}

/// `paired`.
pub(crate) fn paired<'a>(device: &'a Device, looks_like: Option<&'a LookAlike>) -> Event<'a> {
    Event::Paired(Known { device, looks_like })
}

/// `answered`.
pub(crate) fn answered(id: TransferId, reason: Option<DeclineReason>) -> Event<'static> {
    Event::Answered { id: id.to_string(), accepted: reason.is_none(), reason }
}

/// `planned`.
pub(crate) fn planned(id: TransferId, action: Planned, at: &Path) -> Event<'static> {
    Event::Planned { id, action, at: at.into() }
}

/// `offer`.
pub(crate) fn offer<'a>(offer: &'a Offer, decision: &Decision) -> Event<'a> {
    let rule = match decision {
        Decision::Ask(_) => Consent::Ask,
        Decision::Accept { .. } => Consent::Accept,
        Decision::Decline => Consent::Refuse,
    };
    Event::Offer { offer, rule }
}

/// `device`.
pub(crate) fn device<'a>(device: &'a Device, looks_like: Option<&'a LookAlike>, shares: &'a [Share]) -> Event<'a> {
    let is_refused = device.rule.consent == Consent::Refuse;
    let shares = shares.iter().filter(|share| share.with.has(device.id)).map(|share| MayRead {
        name: &share.name,
        drop: share.drop.is_some(),
        unavailable: share.unavailable,
        drop_trouble: share.drop_trouble,
        refused: is_refused && share.drop.is_some(),
    });
    let shares = shares.collect();
    Event::Device(Listed { known: Known { device, looks_like }, shares })
}

/// `started`.
pub(crate) fn started(transfer: &Transfer, progress: &Progress) -> Event<'static> {
    Event::Started(Started::new(transfer, progress))
}

/// `progress`.
pub(crate) fn progress(id: TransferId, progress: &Progress) -> Event<'_> {
    Event::Progress { id, progress }
}

/// `finished`; `words` says why it failed where another message than the usual one is shown.
pub(crate) fn finished<'a>(transfer: &Transfer, report: &'a Report, words: Option<&Words>, dry_run: bool) -> Event<'a> {
    Event::Finished(Box::new(Finished::new(transfer, report, words, dry_run)))
}

/// `transfer`.
pub(crate) fn transfer(moving: &Moving) -> Event<'_> {
    Event::Transfer(&moving.transfer)
}

/// `transfer_waits`.
pub(crate) fn transfer_waits(waiting: &Waiting) -> Event<'_> {
    let Waiting { id, device, target, title, more_names } = waiting;
    Event::TransferWaits { id, peer_id: *device, peer: target, title, more_names: *more_names }
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
pub(crate) fn auth_failed(failed: &TurnedAway) -> Event<'_> {
    Event::AuthFailed { failed, message: words::pairing_failed(failed) }
}

/// `entry_failed`.
pub(crate) fn entry_failed(id: TransferId, direction: Direction, is_got: bool, failure: &Failure) -> Event<'_> {
    Event::EntryFailed { id, failure: EntryFailure::new(failure, direction, is_got) }
}

/// `entry_kept`.
pub(crate) fn entry_kept(id: TransferId, edit: &Edit) -> Event<'_> {
    Event::EntryKept { id, edit }
}
