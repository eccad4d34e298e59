//! What the service does, as lines for people and events for programs. Its text is safe to print as
//! it comes.
use std::time::SystemTime;

use ringway_daemon::control::protocol::Hello;
use ringway_daemon::dto::{Everything, Listening, Waiting};
use ringway_model::{
    Difference, Direction, Note, Offer, OnConflict, OpenCode, PairingRequest, PathText, Stage, Text, ThisDevice,
    UnderWay, sentences,
};

use crate::json::{self, Event, Service, WhatFailed};
use crate::text::{ago, and_more, bytes, clock, count, for_how_long, rate, table};
use crate::words;

/// Digits of an id that lists show: enough to tell a handful apart, and to be typed.
const ID_SHOWN: usize = 8;

/// Names that a line shows.
const NAMES_SHOWN: usize = 3;

/// The code that is open still.
pub(crate) fn open_code(listening: &Listening, now: SystemTime) -> Option<&OpenCode> {
    let Listening::On { code: Some(code), .. } = listening else { return None };
    code.code_valid_until.is_none_or(|until| until > now).then_some(code)
}

/// `service`.
pub(crate) fn service_event<'a>(hello: &'a Hello, all: &'a Everything, now: SystemTime) -> Event<'a> {
    let (addresses, port, error) = match &all.listening {
        Listening::On { addresses, port, .. } => (addresses.as_slice(), Some(*port), None),
        Listening::Off { refused } => (&[][..], None, refused.as_ref()),
        Listening::Failed { fault, port } => (&[][..], Some(*port), Some(fault)),
    };
    let service = Service {
        version: &hello.ringway,
        pid: hello.pid,
        device: ThisDevice { id: all.device_id, name: all.settings.settings.name.clone() },
        addresses,
        port,
        destination: &all.settings.settings.receive_folder,
        code: open_code(&all.listening, now).cloned().unwrap_or(OpenCode { code: None, code_valid_until: None }),
        error: error.map(WhatFailed::from),
    };
    Event::Service { running: true, service: Some(Box::new(service)) }
}

/// Why a person is asked in spite of the rule, where that is so.
pub(crate) fn asked_because(offer: &Offer) -> Option<String> {
    offer.asked_because.as_ref().map(|because| because.says().what())
}

/// A few names, and how many more.
pub(crate) fn names(names: &[PathText], more: u64) -> String {
    let more = more + names.len().saturating_sub(NAMES_SHOWN) as u64;
    let shown = names.iter().take(NAMES_SHOWN).map(PathText::to_string).collect::<Vec<_>>().join(", ");
    and_more(shown, more)
}

/// The line that shows the code, or says how to come by one.
pub(crate) fn code_line(listening: &Listening, now: SystemTime) -> String {
    match open_code(listening, now) {
        Some(OpenCode { code: Some(text), code_valid_until: Some(until) }) => {
            format!("  Code:     {text}   (valid for {}, for one device)", for_how_long(*until, now))
        }
        Some(OpenCode { code: Some(text), code_valid_until: None }) => format!("  Code:     {text}"),
        Some(_) => "  Code:     the one that was given".to_owned(),
        None => "  Code:     none is open; `ringway code --new` draws one".to_owned(),
    }
}

/// All of `ringway status`.
pub(crate) fn status(hello: &Hello, all: &Everything, blocked: &[PairingRequest], now: SystemTime) -> Vec<String> {
    let mut lines = vec![
        format!("{} (Ringway {}, process {})", all.settings.settings.name, hello.ringway, hello.pid),
        String::new(),
    ];
    match &all.listening {
        Listening::On { addresses, port, .. } => {
            lines.push(format!("  Folder:   {}", all.settings.settings.receive_folder));
            match addresses.split_first() {
                Some((first, others)) => {
                    lines.push(format!("  Address:  {first}"));
                    lines.extend(others.iter().map(|other| format!("            {other}")));
                }
                None => lines.push(format!("  Address:  this machine has no network (port {port})")),
            }
            lines.push(code_line(&all.listening, now));
        }
        Listening::Off { refused: Some(fault) } => {
            let words = words::error(fault);
            lines.push(format!("  It does not receive, and that could not be switched on: {}", words.what));
            lines.push("  Clear the way, or take another port or folder: `ringway settings --port PORT`, `--receive-folder DIR`.".to_owned());
            lines.push("  Then `ringway settings --receiving on` tries it again.".to_owned());
        }
        Listening::Off { .. } if !all.settings.settings.receiving => {
            lines.push("  It does not receive: `ringway settings --receiving on` switches that on.".to_owned());
        }
        Listening::Off { .. } => lines.push("  It does not receive.".to_owned()),
        Listening::Failed { fault, port } => {
            let words = words::error(fault);
            lines.push(format!("  It cannot receive at port {port}: {}", words.what));
        }
    }
    if !all.requests.is_empty() {
        lines.extend([
            String::new(),
            "Devices that want to connect (`ringway allow ID`, `ringway dismiss ID`, `ringway block ID`):".to_owned(),
        ]);
        lines.extend(requests(&all.requests));
    }
    if !blocked.is_empty() {
        lines.extend([String::new(), "Blocked until the service ends (`ringway block --undo ID`):".to_owned()]);
        lines.extend(table(
            blocked
                .iter()
                .map(|PairingRequest { id, name, from, .. }| [id.short(), name.to_string(), from.to_string()])
                .collect(),
        ));
    }
    if !all.offers.is_empty() {
        lines.extend([String::new(), "Waiting for an answer (`ringway accept ID`, `ringway decline ID`):".to_owned()]);
        lines.extend(offers(&all.offers));
    }
    let unread: Vec<_> = all.notes.iter().filter(|note| !note.is_read).collect();
    if !unread.is_empty() {
        lines.extend([String::new(), "Unread notes (`ringway notes show NUMBER`):".to_owned()]);
        lines.extend(notes(&unread));
    }
    let running = all.transfers.iter().filter(|moving| moving.report.is_none());
    let running: Vec<_> = running.map(|moving| &moving.transfer).collect();
    if !running.is_empty() {
        lines.extend([String::new(), "Under way (`ringway cancel ID`):".to_owned()]);
        lines.extend(transfers(&running));
    }
    if !all.waiting.is_empty() {
        lines.extend([
            String::new(),
            "Waiting until another one to the same device has ended (`ringway cancel ID`):".to_owned(),
        ]);
        lines.extend(waiting(&all.waiting));
    }
    lines
}

/// Notes that a status shows: the latest ones.
const NOTES_SHOWN: usize = 5;

/// A table of the latest ones, and how many more there are.
fn notes(notes: &[&Note]) -> Vec<String> {
    let heading = ["NO", "FROM", "FIRST LINE"].map(str::to_owned);
    let rows = notes.iter().take(NOTES_SHOWN).map(|note| {
        let line = crate::commands::notes::first_line(note);
        [note.number.to_string(), note.from.to_string(), line]
    });
    let more = notes.len().checked_sub(NOTES_SHOWN + 1).map(|more| format!("and {} more", more + 1));
    table(std::iter::once(heading).chain(rows).collect()).into_iter().chain(more).collect()
}

/// A line for each device that wants to pair.
pub(crate) fn requests(requests: &[PairingRequest]) -> Vec<String> {
    requests.iter().map(words::pairing_requested).collect()
}

/// A table of what waits, in the order in which it begins.
fn waiting(waiting: &[Waiting]) -> Vec<String> {
    let heading = ["ID", "DEVICE", "WHAT"].map(str::to_owned);
    let rows = waiting.iter().map(|waits| {
        let title = names(std::slice::from_ref(&waits.title), waits.more_names);
        [short(&waits.id), waits.target.to_string(), title]
    });
    table(std::iter::once(heading).chain(rows).collect())
}

/// A table of offers.
pub(crate) fn offers(offers: &[Offer]) -> Vec<String> {
    let heading = ["ID", "FROM", "WHAT", "ITEMS", "SIZE", "INTO"].map(str::to_owned);
    let rows = offers.iter().map(|offer| {
        let so_far = if offer.totals_final { "" } else { "+" };
        [
            short(&offer.id.to_string()),
            offer.from.to_string(),
            names(&offer.names, offer.more_names),
            format!("{}{so_far}", count(offer.entries_so_far)),
            format!("{}{so_far}", bytes(offer.bytes_so_far)),
            offer.destination.to_string(),
        ]
    });
    let more = offers.iter().flat_map(|offer| {
        let id = short(&offer.id.to_string());
        let compared = offer.comparison.as_ref().and_then(sentences::compared);
        let compared = compared.map(|counts| format!("{}: as listed by the sender, {counts}", offer.destination));
        // An answer may come without another look.
        let would_do = [OnConflict::RenameTop, OnConflict::Replace].into_iter();
        let would_do = would_do.flat_map(|on_conflict| sentences::would_do(offer, on_conflict));
        let lines = compared.into_iter().chain(would_do.map(|says| says.what())).chain(asked_because(offer));
        lines.map(move |line| format!("{id}: {line}"))
    });
    table(std::iter::once(heading).chain(rows).collect()).into_iter().chain(more).collect()
}

/// A table of what differs.
pub(crate) fn differences(differences: &[Difference], now: SystemTime) -> Vec<String> {
    if differences.is_empty() {
        return Vec::new();
    }
    let heading = ["PATH", "HERE IS", "HERE", "OFFERED"].map(str::to_owned);
    let edited = |found: &Difference| if found.edited { ", changed here or from elsewhere" } else { "" };
    let version = |size: Option<u64>, changed: Option<SystemTime>| {
        let parts = [size.map(bytes), changed.map(|changed| ago(changed, now))];
        parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
    };
    let rows = differences.iter().map(|found| {
        [
            found.path.to_string(),
            json::name_of(found.here_is).replace('_', " ") + edited(found),
            version(found.here_bytes, found.here_changed_at),
            version(found.offered_bytes, found.offered_changed_at),
        ]
    });
    table(std::iter::once(heading).chain(rows).collect())
}

fn transfers(transfers: &[&UnderWay]) -> Vec<String> {
    let heading = ["ID", "", "DEVICE", "WHAT", "DONE", "RATE", "LEFT"].map(str::to_owned);
    let rows = transfers.iter().map(|under_way| {
        let progress = &under_way.progress;
        let done = match (progress.stage, progress.totals_final) {
            (Stage::Running | Stage::Finishing | Stage::Verifying, true) if progress.bytes_total > 0 => {
                format!("{} %", progress.bytes_done.saturating_mul(100) / progress.bytes_total)
            }
            (Stage::Running, _) => bytes(progress.bytes_done),
            (stage, _) => json::name_of(stage).replace('_', " "),
        };
        [
            short(&under_way.id),
            match under_way.direction {
                Direction::Sending => "to",
                Direction::Receiving => "from",
                Direction::Copying => "into",
            }
            .to_owned(),
            progress.peer.as_ref().or(under_way.target.as_ref()).map(Text::to_string).unwrap_or_default(),
            names(std::slice::from_ref(&under_way.title), under_way.more_names),
            done,
            rate(progress.bytes_per_s as f64),
            progress.time_left.map(clock).unwrap_or_default(),
        ]
    });
    table(std::iter::once(heading).chain(rows).collect())
}

/// An id as lists have it.
pub(crate) fn short(id: &str) -> String {
    id.chars().take(ID_SHOWN).collect()
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, UNIX_EPOCH};

    use super::*;

    fn listening(seconds: Option<u64>) -> Listening {
        let code_valid_until = seconds.map(|seconds| UNIX_EPOCH + Duration::from_secs(seconds));
        let code = Some(OpenCode { code: Some("42-river-castle".into()), code_valid_until });
        Listening::On { addresses: Vec::new(), port: 1, other_port: false, code, firewalls: Vec::new() }
    }

    #[test]
    fn a_code_is_shown_as_long_as_it_is_open() {
        let now = UNIX_EPOCH + Duration::from_secs(1_000);
        let line = code_line(&listening(Some(1_600)), now);
        assert!(line.contains("42-river-castle") && line.contains("10 minutes"), "{line}");
        assert!(code_line(&listening(Some(1_000)), now).contains("none is open"));
        assert!(code_line(&Listening::Off { refused: None }, now).contains("none is open"));
        assert!(open_code(&listening(None), now).is_some());
    }

    #[test]
    fn few_names_are_named_and_the_others_counted() {
        let own = |names: &[&str]| names.iter().map(|&name| name.into()).collect::<Vec<_>>();
        assert_eq!(names(&own(&["a", "b"]), 0), "a, b");
        assert_eq!(names(&own(&["a", "b", "c", "d"]), 1_000), "a, b, c and 1,001 more");
    }
}
