//! The window's English catalogue has the rows of `model::sentences`, and the window chooses the
//! same row for the same fault, stage or reason. `npm run messages` writes both files.
use std::collections::BTreeSet;
use std::fs;
use std::num::NonZeroU32;
use std::path::Path;
use std::time::Duration;

use ringway_model::samples::{self, DIRECTIONS, SYNC_IO_REASONS, USER_TLS_REASONS};
use ringway_model::sentences::{self, ROWS, Says, Unsuitable};
use ringway_model::{
    AskedBecause, AuthError, Bottleneck, Comparison, ComparisonState, DeviceId, Direction, Failure, Fault,
    Interruption, LookAlike, Offer, OnConflict, Outage, Progress, Side, Stage, TransferId,
};
use serde_json::{Value, json};

const CATALOGUE: &str = "../../../src/messages/en.json";

/// What the front end's tests compare its own choice with (`src/messages/sentences.test.ts`).
const CHOICES: &str = "../../../src/testing/sentences.json";

/// Keys that are written from the table.
const GENERATED: [&str; 19] = [
    "stage.",
    "wait.",
    "pairing.",
    "device.",
    "offer.",
    "comparison.",
    "code.",
    "missing.",
    "limit.",
    "failure.",
    "copyFailure.",
    "refused.",
    "copyFault.",
    "operation.",
    "remedy.",
    "tls.why.",
    "files.why.",
    "share.why.",
    "fault.",
];

fn group(key: &str) -> Option<&'static str> {
    GENERATED.into_iter().find(|group| key.starts_with(group))
}

/// An offer that compares so, and would update and make folders of other names.
fn offer(compared: Comparison) -> Offer {
    Offer {
        id: TransferId([0; 16]),
        from: NAME.into(),
        from_id: DeviceId([0; 32]),
        looks_like: None,
        names: Vec::new(),
        kinds: Vec::new(),
        more_names: 0,
        dot_names: Vec::new(),
        more_dot_names: 0,
        entries_so_far: 0,
        bytes_so_far: 0,
        totals_final: false,
        destination: NAME.into(),
        in_share: None,
        is_home: false,
        free_space: None,
        asked_because: None,
        comparison: Some(compared),
        in_place: None,
        updates: vec![NAME.into()],
        renamed: vec![NAME.into()],
    }
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

/// What a peer or a person calls itself in what the front end's tests read.
const NAME: &str = "nas";

fn choice(of: Value, says: &Says) -> Value {
    let (what, next) = says.keys();
    json!({ "of": of, "what": what, "next": next })
}

/// A fault with its rows, and those that differ where it ends a transfer in some direction.
fn fault_choice(fault: &Fault) -> Value {
    let mut all = choice(json!(fault), &fault.says());
    for direction in DIRECTIONS {
        let (what, next) = fault.says_of(direction, false).keys();
        if fault.says().keys() != (what.clone(), next.clone()) {
            let name = json!(direction).as_str().unwrap().to_owned();
            all[name] = json!({ "what": what, "next": next });
        }
        let (what, next) = fault.says_of(direction, true).keys();
        if fault.says_of(direction, false).keys() != (what.clone(), next.clone()) {
            all[format!("got_{}", json!(direction).as_str().unwrap())] = json!({ "what": what, "next": next });
        }
    }
    all
}

/// Every direction, of what was sent and of what was asked for. Nobody asks for a copy.
const WAYS: [(Direction, bool); 5] = [
    (Direction::Sending, false),
    (Direction::Receiving, false),
    (Direction::Copying, false),
    (Direction::Sending, true),
    (Direction::Receiving, true),
];

/// Every reason at both ends, of transfers and copies.
fn failures() -> impl Iterator<Item = (Failure, Direction, bool)> {
    let all = samples::failures(&"a".into());
    all.into_iter().flat_map(|failure| WAYS.map(|(direction, is_got)| (failure.clone(), direction, is_got)))
}

fn progress(stage: Stage) -> Progress {
    Progress {
        stage,
        peer: Some(NAME.into()),
        peer_id: None,
        entries_done: 1,
        entries_total: 2,
        bytes_done: 3,
        bytes_moved: 3,
        bytes_total: 4,
        totals_final: true,
        failed: 0,
        running_for: Duration::from_secs(1),
        bytes_per_s: 3,
        entries_per_s: 1,
        time_left: None,
        stalled_for: None,
        limited_by: None,
        limit_bytes_per_s: None,
        reconnected: 0,
        interruption: None,
        place: None,
        can_pause: true,
        lanes: 1,
        here: None,
        there: None,
    }
}

/// Every stage, a stall, and every interruption with and without another attempt.
fn stages() -> Vec<Progress> {
    let stages = [
        Stage::Connecting,
        Stage::AwaitingAnswer,
        Stage::Queued,
        Stage::Running,
        Stage::Finishing,
        Stage::Verifying,
        Stage::Reconnecting,
        Stage::Paused,
    ];
    let mut all: Vec<_> = stages.map(progress).into();
    all.push(Progress { place: NonZeroU32::new(3), ..progress(Stage::Queued) });
    all.push(Progress { stalled_for: Some(Duration::from_secs(7)), ..progress(Stage::Running) });
    let [soon, late] = [3, 900].map(|seconds| Some(Duration::from_secs(seconds)));
    for why in samples::outages() {
        for (next_try, gives_up) in [(soon, late), (None, late), (None, None)] {
            let stage = match why {
                Outage::Full(_) | Outage::Paused { .. } => Stage::Paused,
                _ => Stage::Reconnecting,
            };
            let interruption = Some(Interruption { why, next_try, gives_up });
            all.push(Progress { interruption, ..progress(stage) });
        }
    }
    all
}

/// The rows of a stage, and of the reason that stands inside the sentence.
fn stage_choice(progress: &Progress, direction: Direction, is_got: bool) -> Value {
    let says = progress.says(direction, is_got, Some(NAME)).expect("it has not ended");
    let mut all = choice(json!({ "progress": progress, "direction": direction, "got": is_got }), &says);
    if all["what"].as_str().is_some_and(|key| key.starts_with("wait.trying")) {
        let why = progress.interruption.and_then(|interruption| sentences::outage(interruption.why));
        all["why"] = json!(why.expect("another attempt has a reason").keys().0);
    }
    all
}

/// Pairing that failed here, with the attempts that are left.
fn pairing() -> Vec<(AuthError, Option<u8>)> {
    let wrong = [None, Some(0), Some(1), Some(2)].map(|left| (AuthError::WrongCode, left));
    samples::auth(NAME).into_iter().map(|why| (why, None)).chain(wrong).collect()
}

fn asked() -> [AskedBecause; 2] {
    [AskedBecause::TooMuch { bytes_max: 5_000 }, AskedBecause::NoFolder { folder: "/in".into() }]
}

/// Everything that can be said, with the rows that say it.
fn choices() -> Value {
    let bottlenecks = Bottleneck::ALL.into_iter().flat_map(|by| {
        WAYS.map(|(direction, is_got)| {
            choice(json!({ "by": by, "direction": direction, "got": is_got }), &by.says(direction, is_got))
        })
    });
    let stages = stages();
    let stages =
        stages.iter().flat_map(|progress| WAYS.map(|(direction, is_got)| stage_choice(progress, direction, is_got)));
    json!({
        "faults": samples::faults(NAME).iter().map(fault_choice).collect::<Vec<_>>(),
        "failures": failures().map(|(failure, direction, is_got)| {
            let of = json!({ "failure": failure, "direction": direction, "got": is_got });
            choice(of, &sentences::failure(&failure, direction, is_got))
        }).collect::<Vec<_>>(),
        "copy_steps": copy_failures().iter().map(|failure| {
            json!({ "of": failure, "next": sentences::copy_step(failure).keys().1 })
        }).collect::<Vec<_>>(),
        "tls": USER_TLS_REASONS.map(|reason| choice(json!({ "user": reason }), &sentences::user_tls(reason))),
        "io": SYNC_IO_REASONS.map(|reason| choice(json!({ "sync": reason }), &sentences::sync_io(reason))),
        "bottlenecks": bottlenecks.collect::<Vec<_>>(),
        "stages": stages.collect::<Vec<_>>(),
        "pairing": pairing().into_iter().map(|(why, left)| {
            let says = sentences::pairing_failed(&why, NAME, left);
            choice(json!({ "fault": Fault::Auth(why), "left": left }), &says)
        }).collect::<Vec<_>>(),
        "asked": asked().map(|because| choice(json!(because), &because.says())),
    })
}

/// Entries that were not copied, with every error of the system's.
fn copy_failures() -> Vec<Failure> {
    let all = samples::failures(&"a".into());
    let os =
        samples::ERRNOS.map(|errno| Failure { reason: ringway_model::FailureReason::Os { errno }, ..all[0].clone() });
    all.iter().filter(|failure| failure.side == Side::Here).cloned().chain(os).collect()
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
    for fault in samples::faults(NAME) {
        take(fault.says());
        WAYS.into_iter().for_each(|(direction, is_got)| take(fault.says_of(direction, is_got)));
    }
    failures().for_each(|(failure, direction, is_got)| take(sentences::failure(&failure, direction, is_got)));
    copy_failures().iter().for_each(|failure| take(sentences::copy_step(failure)));
    USER_TLS_REASONS.into_iter().for_each(|reason| take(sentences::user_tls(reason)));
    SYNC_IO_REASONS.into_iter().for_each(|reason| take(sentences::sync_io(reason)));
    for by in Bottleneck::ALL {
        WAYS.into_iter().for_each(|(direction, is_got)| take(by.says(direction, is_got)));
    }
    for progress in stages() {
        WAYS.into_iter().filter_map(|(direction, is_got)| progress.says(direction, is_got, None)).for_each(&mut take);
    }
    samples::outages().into_iter().filter_map(sentences::outage).for_each(&mut take);
    pairing().iter().for_each(|(why, left)| take(sentences::pairing_failed(why, NAME, *left)));
    asked().iter().for_each(|because| take(because.says()));
    let other = LookAlike { name: NAME.into(), id: DeviceId([1; 32]) };
    [other.says(), other.says_of_offer(NAME, DeviceId([2; 32]))].into_iter().for_each(&mut take);
    let unsuitable =
        [Unsuitable::NotWritable, Unsuitable::TooLarge(1), Unsuitable::TooMany(1), Unsuitable::NamesTooLong(1)];
    unsuitable.into_iter().for_each(|why| take(why.says()));
    let others = [
        sentences::dot_names(1, ".a"),
        sentences::code_ambiguous(7, NAME),
        sentences::nothing_copied(),
        sentences::copied_so_far("1 file"),
    ];
    others.into_iter().for_each(&mut take);
    let [update, replace] = [OnConflict::RenameTop, OnConflict::Replace];
    let whole = Comparison { state: ComparisonState::Done, edited: 1, ..Comparison::default() };
    for compared in [whole, Comparison { at_least: true, ..whole }] {
        let offer = offer(compared);
        [update, replace].into_iter().flat_map(|choice| sentences::would_do(&offer, choice)).for_each(&mut take);
    }
    sentences::replaces(None).into_iter().for_each(&mut take);
    // These are put into others.
    let parts = ["comparison.", "missing.", "operation.", "remedy.", "share.why.", "fault.notPublished.more"];
    for row in ROWS.iter().filter(|row| !parts.iter().any(|part| row.key.starts_with(part))) {
        assert!(row.what.is_empty() || said.contains(row.key), "no fault says {}", row.key);
        assert!(row.in_window().is_empty() || said.contains(&format!("{}.next", row.key)), "{}.next", row.key);
    }
}
