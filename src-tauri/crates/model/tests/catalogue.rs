//! The window's English catalogue has the rows of `model::sentences`, and the window chooses the
//! same row for the same fault. `npm run messages` writes both files.
use std::borrow::Cow;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use ringway_model::sentences::{self, ROWS, Says};
use ringway_model::{
    Aim, AuthError, Bottleneck, DeclineReason, DeviceId, Direction, Failure, FailureReason, Fault, Invalid, Operation,
    OsError, Remedy, Shortage, Side, StoreTrouble, SyncIoReason, UserTlsReason,
};
use serde_json::{Value, json};

const CATALOGUE: &str = "../../../src/messages/en.json";

/// What the front end's tests compare its own choice with (`src/messages/sentences.test.ts`).
const CHOICES: &str = "../../../src/testing/sentences.json";

/// Keys that are written from the table.
const GENERATED: [&str; 9] =
    ["missing.", "limit.", "failure.", "copyFailure.", "operation.", "remedy.", "tls.why.", "files.why.", "fault."];

fn group(key: &str) -> Option<&'static str> {
    GENERATED.into_iter().find(|group| key.starts_with(group))
}

/// The table as lines of the catalogue, a blank one between groups.
fn generated() -> Vec<String> {
    let mut lines = Vec::new();
    let mut before = None;
    for row in ROWS {
        let group = group(row.key);
        assert!(group.is_some(), "{} is in no group", row.key);
        if before.is_some() && before != group {
            lines.push(String::new());
        }
        before = group;
        for (end, text) in [("", row.what), (".next", row.in_window())].into_iter().filter(|(_, text)| !text.is_empty())
        {
            lines.push(format!("  \"{}{end}\": {},", row.key, serde_json::to_string(text).unwrap()));
        }
    }
    lines
}

fn is_generated(line: &str) -> bool {
    line.trim_start().strip_prefix('"').is_some_and(|key| group(key).is_some())
}

/// The catalogue with the table's rows in the place of those that it has.
fn with_rows(catalogue: &str) -> String {
    let lines: Vec<&str> = catalogue.lines().collect();
    let first = lines.iter().position(|line| is_generated(line)).expect("the catalogue has rows of the table");
    let last = lines.iter().rposition(|line| is_generated(line)).unwrap();
    let between = lines[first..=last].iter().find(|line| !line.is_empty() && !is_generated(line));
    assert_eq!(between, None, "a message stands between the table's");
    let generated = generated();
    let all: Vec<&str> = lines[..first]
        .iter()
        .copied()
        .chain(generated.iter().map(String::as_str))
        .chain(lines[last + 1..].iter().copied())
        .collect();
    all.join("\n") + "\n"
}

fn os(errno: i32) -> OsError {
    io::Error::from_raw_os_error(errno).into()
}

/// Errors of the system's, each of which may have a next step of its own.
const ERRNOS: [i32; 18] = [1, 2, 5, 13, 17, 20, 24, 28, 30, 32, 36, 98, 99, 101, 104, 110, 111, 122];

/// At least one fault for each row.
fn faults() -> Vec<Fault> {
    let id = DeviceId([7; 32]);
    let name = || "nas".into();
    let shortage = |needed, entries| Some(Shortage { needed, free: 4, entries });
    let mut all = Vec::new();
    for errno in ERRNOS {
        all.push(Fault::path("/a", Operation::Open, os(errno)));
        all.push(Fault::unreachable("10.0.0.9:17464", os(errno)));
        all.push(Fault::listen("[::]:17464", os(errno)));
        all.push(Fault::ConnectionLost(os(errno)));
    }
    all.push(Fault::listen("10.0.0.9:17464", os(99)));
    all.push(Fault::unreachable("lab:17464", io::Error::other("no such host")));
    for published in [Vec::new(), vec!["b".into()], vec!["b".into(); 12]] {
        let (path, operation, source) = ("/a".into(), Operation::Rename, os(17));
        all.push(Fault::NotPublished { path, operation, source, published });
    }
    for side in [Side::Here, Side::There] {
        all.extend([Fault::cancelled(side), Fault::paused(side), Fault::TooMuch { bytes_max: 20, by: side }]);
        all.push(Fault::Cancelled { by: side, kept: true });
    }
    let remedies = [Vec::new(), vec![Remedy::new(Aim::LoadTls, "x"), Remedy::new(Aim::KeepTls, "y")]];
    all.extend(remedies.map(|remedies| Fault::NoKernelTls { reason: UserTlsReason::ModuleNotLoaded, remedies }));
    for (line, nearest) in [(None, None), (Some(3), None), (Some(3), Some(name()))] {
        all.push(Fault::Config { path: "/c".into(), line, detail: name(), nearest });
    }
    let troubles = [
        StoreTrouble::Full,
        StoreTrouble::NotWritable,
        StoreTrouble::NotReadable,
        StoreTrouble::Busy,
        StoreTrouble::DamagedDatabase,
        StoreTrouble::DamagedIdentity,
        StoreTrouble::Untrusted,
        StoreTrouble::Other,
    ];
    all.extend(troubles.map(|trouble| Fault::Store { path: "/s".into(), trouble, detail: name() }));
    all.extend([
        Fault::FewDescriptors { has: 1, least: 2 },
        Fault::UnknownTarget { target: name() },
        Fault::UnknownTarget { target: "fe80::1%x".into() },
        Fault::TurnedAway,
        Fault::Protocol { detail: name() },
        Fault::MisleadingName,
        Fault::ReceiptContradicts { detail: name() },
        Fault::Stalled { seconds: 600 },
        Fault::Version { ours: 1, theirs: 2 },
        Fault::Tls { detail: name() },
        Fault::NoIoUring { reason: SyncIoReason::Forbidden },
        Fault::machine("no"),
        Fault::FailedThere,
        Fault::DestinationFull { shortage: None },
        Fault::DestinationFull { shortage: shortage(9, 0) },
        Fault::DestinationFull { shortage: shortage(4, 1) },
        Fault::DestinationFull { shortage: shortage(9, 2) },
        Fault::Discovery { detail: name() },
        Fault::PeerForgotten,
        Fault::DestinationGone,
        Fault::Unanswered,
        Fault::Grown { bytes: 5 },
        Fault::Gone,
        Fault::TooManySent,
        Fault::NewTarget { what: "a".into(), more: 1, to: name(), was: name() },
        Fault::NotACode,
        Fault::UnknownWord { position: 1 },
        Fault::UnknownWord { position: 2 },
        Fault::CodeNumberTooLarge,
        Fault::ServiceGone,
        Fault::ServiceFailed { detail: name(), remedies: vec![Remedy::new(Aim::Serve, "ringway serve")] },
        Fault::ServiceDiffers { ours: name(), theirs: name(), remedies: vec![Remedy::who_listens(1)] },
        Fault::Systemd { detail: name() },
        Fault::NoProgram,
        Fault::NoFileManager { path: "/a".into() },
        Fault::Other { detail: name() },
    ]);
    let auth = [
        AuthError::PairingNeeded { peer_name: name() },
        AuthError::WrongCode,
        AuthError::NoCodeOpen,
        AuthError::PairingBusy { wait_ms: 1_500 },
        AuthError::IdentityChanged { name: name(), expected: id, found: DeviceId([9; 32]) },
        AuthError::Unconfirmed { last: name(), last_id: id, name: name(), found: id },
        AuthError::OtherAnswered { announced: name(), found: id },
        AuthError::Forgotten { name: name(), id, now: Some(id) },
        AuthError::Forgotten { name: name(), id, now: None },
        AuthError::Ourselves,
    ];
    let declined = [
        DeclineReason::ByChoice,
        DeclineReason::NoAnswer,
        DeclineReason::NoRoom(Shortage { needed: 9, free: 4, entries: 1 }),
        DeclineReason::NotWritable,
        DeclineReason::Busy,
        DeclineReason::Paused,
        DeclineReason::Stopped,
        DeclineReason::TooManyOffers { wait_ms: 15_000 },
    ];
    let invalid = [
        Invalid::NothingToSend,
        Invalid::SameName { name: "a".into() },
        Invalid::NameTooLong { name: "a".into() },
        Invalid::DeviceName,
        Invalid::NameTaken,
        Invalid::AmbiguousId,
        Invalid::AmbiguousName { name: name() },
        Invalid::UnknownDevice,
        Invalid::Port,
        Invalid::ReceiveFolder,
        Invalid::OwnFolder { folder: "/r".into() },
        Invalid::HomeFolder { folder: "/home/me".into() },
        Invalid::RuleFolder,
        Invalid::RuleSize,
        Invalid::Limit,
        Invalid::PairingOff,
        Invalid::TransferId,
        Invalid::Running,
        Invalid::CannotPause,
        Invalid::NoDestination,
        Invalid::TooMany,
        Invalid::Option { detail: Cow::Borrowed("no") },
    ];
    all.extend(auth.map(Fault::Auth));
    all.extend(declined.map(Fault::Declined));
    all.extend(invalid.map(Fault::Invalid));
    all
}

const DIRECTIONS: [Direction; 3] = [Direction::Sending, Direction::Receiving, Direction::Copying];

/// Every reason at both ends, of transfers and copies.
fn failures() -> Vec<(Failure, Direction)> {
    let reasons = [
        FailureReason::Os { errno: 13 },
        FailureReason::SpecialFile,
        FailureReason::ChangedWhileReading,
        FailureReason::PathTooLong,
        FailureReason::InTheWay,
        FailureReason::LinkTargetMissing,
        FailureReason::Kept,
        FailureReason::SameFile,
        FailureReason::IntoItself,
        FailureReason::Differs,
        FailureReason::OwnFolder,
        FailureReason::DotName,
        FailureReason::HomeFolder,
        FailureReason::NameNotKept,
        FailureReason::CutShort { errno: 125 },
        FailureReason::CutShort { errno: 28 },
    ];
    let mut all = Vec::new();
    for reason in reasons {
        for direction in DIRECTIONS {
            for side in [Side::Here, Side::There] {
                all.push((Failure { path: "a".into(), side, operation: Operation::Write, reason }, direction));
            }
        }
    }
    all
}

fn tls_reasons() -> [UserTlsReason; 5] {
    use UserTlsReason::{Asked, ModuleNotLoaded, ModulesUnseen, NotInKernel, Refused};
    [Asked, NotInKernel, ModuleNotLoaded, ModulesUnseen, Refused(1)]
}

fn io_reasons() -> [SyncIoReason; 7] {
    use SyncIoReason::{Asked, Faster, Forbidden, NoMemory, NotInKernel, OpcodeMissing, Refused};
    [Asked, Faster, NotInKernel, Forbidden, NoMemory, OpcodeMissing, Refused(1)]
}

fn choice(of: Value, says: &Says) -> Value {
    let (what, next) = says.keys();
    json!({ "of": of, "what": what, "next": next })
}

/// Everything that can be said, with the rows that say it.
fn choices() -> Value {
    let bottlenecks = Bottleneck::ALL.into_iter().flat_map(|by| {
        DIRECTIONS.map(|direction| choice(json!({ "by": by, "direction": direction }), &by.says(direction)))
    });
    json!({
        "faults": faults().iter().map(|fault| choice(json!(fault), &fault.says())).collect::<Vec<_>>(),
        "failures": failures().iter().map(|(failure, direction)| {
            choice(json!({ "failure": failure, "direction": direction }), &sentences::failure(failure, *direction))
        }).collect::<Vec<_>>(),
        "tls": tls_reasons().map(|reason| choice(json!({ "user": reason }), &sentences::user_tls(reason))),
        "io": io_reasons().map(|reason| choice(json!({ "sync": reason }), &sentences::sync_io(reason))),
        "bottlenecks": bottlenecks.collect::<Vec<_>>(),
    })
}

/// Compares a file with what it should be, or writes it.
fn check(path: &str, wanted: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(path);
    if std::env::var_os("RINGWAY_MESSAGES").is_some_and(|set| set == "write") {
        fs::write(&path, wanted).unwrap();
    }
    let found = fs::read_to_string(&path).unwrap_or_default();
    assert!(found == wanted, "{}: run npm run messages", path.display());
}

#[test]
fn the_windows_catalogue_has_the_rows_of_the_table() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(CATALOGUE);
    check(CATALOGUE, &with_rows(&fs::read_to_string(path).unwrap()));
}

#[test]
fn the_front_end_knows_which_row_each_fault_has() {
    let choices = choices();
    let mut text = String::from("{\n");
    for (at, (name, all)) in choices.as_object().unwrap().iter().enumerate() {
        let lines: Vec<_> = all.as_array().unwrap().iter().map(|choice| format!("    {choice}")).collect();
        let comma = if at > 0 { ",\n" } else { "" };
        text.push_str(&format!("{comma}  \"{name}\": [\n{}\n  ]", lines.join(",\n")));
    }
    text.push_str("\n}\n");
    check(CHOICES, &text);
}

#[test]
fn every_row_is_said_and_every_sentence_is_filled_in() {
    let mut said: BTreeSet<String> = BTreeSet::new();
    // The words of commands are the command's to give.
    let words = ["{folder}", "{file}", "{aside}", "{forget}", "{send}"];
    let mut take = |says: Says| {
        let (what, next) = says.keys();
        said.insert(what);
        said.extend(next);
        let terminal = says.in_terminal().unwrap_or_default();
        let text = words.iter().fold(says.what() + &terminal, |text, word| text.replace(word, ""));
        assert!(!text.contains(['{', '}']), "{text}");
    };
    faults().iter().for_each(|fault| take(fault.says()));
    faults().iter().for_each(|fault| take(fault.says_of(Direction::Receiving)));
    failures().iter().for_each(|(failure, direction)| take(sentences::failure(failure, *direction)));
    tls_reasons().into_iter().for_each(|reason| take(sentences::user_tls(reason)));
    io_reasons().into_iter().for_each(|reason| take(sentences::sync_io(reason)));
    for by in Bottleneck::ALL {
        DIRECTIONS.into_iter().for_each(|direction| take(by.says(direction)));
    }
    // These are put into others.
    let parts = ["missing.", "operation.", "remedy.", "fault.notPublished.more"];
    for row in ROWS.iter().filter(|row| !parts.iter().any(|part| row.key.starts_with(part))) {
        assert!(row.what.is_empty() || said.contains(row.key), "no fault says {}", row.key);
        assert!(row.in_window().is_empty() || said.contains(&format!("{}.next", row.key)), "{}.next", row.key);
    }
}
