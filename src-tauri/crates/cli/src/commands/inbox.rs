//! `ringway inbox`: what was received, sent and copied before, by every program of this device, and
//! how that ended.
mod unfinished;

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt;
use std::time::{Duration, SystemTime};

use anyhow::Result;
use ringway_engine::{Engine, Reget, Remembered, Resend, selection};
use ringway_model::{Direction, Fault, NotFoundKind, Outcome, Past, PastDetails, PastQuery, Report, Selection};

use crate::args::{InboxAction, InboxArgs};
use crate::exit::Exit;
use crate::json::{self, Event};
use crate::output::Output;
use crate::text::{ago, and_more, bytes, count, counted, for_terminal, rate, table, took};
use crate::words::advised;
use crate::words::{self, pace};
pub(in crate::commands) use unfinished::not_answering;

/// Patterns that are shown of a transfer: as many as people type.
const PATTERNS_SHOWN_MAX: usize = 10;

/// Lists what has ended, shows one of it, or forgets it; and the same of what unfinished transfers
/// keep.
pub(crate) fn run(engine: &Engine, args: InboxArgs) -> Result<Exit> {
    let out = Output::from(args.report);
    match args.action {
        None => list(engine, &out, args)?,
        Some(InboxAction::Show { number }) => {
            let (Remembered { past, resend, reget, .. }, details) =
                engine.past_transfer(number)?.ok_or_else(|| unknown(number))?;
            out.event(&json::past(&past, Some(&details)));
            shown(&past, &details, Again::of(resend, reget).as_ref(), SystemTime::now())
                .into_iter()
                .for_each(|line| out.say(line));
        }
        Some(InboxAction::Forget { number }) => {
            if !engine.forget_past(number)? {
                return Err(unknown(number).into());
            }
            out.event(&Event::PastForgotten { transfers: 1 });
            out.say(format_args!("Transfer {number} is forgotten here. What it brought stays where it is."));
        }
        Some(InboxAction::Clear { older_than }) => {
            let days = Duration::from_secs(u64::from(older_than.unwrap_or(0)) * 86_400);
            let before = SystemTime::now().checked_sub(days).unwrap_or(SystemTime::UNIX_EPOCH);
            // What ended within this very second is meant as well.
            let before = if older_than.is_none() { before + Duration::from_secs(1) } else { before };
            let forgotten = engine.forget_past_before(before)?;
            let notes = engine.forget_notes_before(before, false)?;
            out.event(&Event::PastForgotten { transfers: forgotten });
            out.say(format_args!(
                "{} forgotten here. What they brought stays where it is.",
                counted(forgotten, "transfer")
            ));
            if notes > 0 {
                out.event(&Event::NotesForgotten { notes });
                out.say(format_args!("{} that had been read deleted.", counted(notes, "note")));
            }
        }
        Some(InboxAction::Unfinished { folders }) => unfinished::list(engine, &out, &folders)?,
        Some(InboxAction::Discard(discard)) => return unfinished::discard(engine, &out, &discard),
    }
    Ok(Exit::All)
}

/// How something is repeated.
enum Again {
    Send(Resend),
    Get(Reget),
}

impl Again {
    fn of(resend: Option<Resend>, reget: Option<Reget>) -> Option<Self> {
        resend.map(Self::Send).or(reget.map(Self::Get))
    }

    fn selection(&self) -> &Selection {
        match self {
            Self::Send(resend) => &resend.selection,
            Self::Get(reget) => &reget.selection,
        }
    }
}

fn unknown(number: u64) -> Fault {
    Fault::not_found(NotFoundKind::PastTransfer, number.to_string())
}

fn list(engine: &Engine, out: &Output, args: InboxArgs) -> Result<()> {
    let direction = match (args.all, args.sent) {
        (true, _) => None,
        (false, true) => Some(Direction::Sending),
        (false, false) => Some(Direction::Receiving),
    };
    let is_narrowed = args.failed || args.search.is_some();
    let query = PastQuery {
        direction,
        failed_only: args.failed,
        unresolved_only: false,
        search: args.search.unwrap_or_default(),
        before: args.before,
    };
    let past = engine.past(&query, args.limit)?;
    for past in &past {
        out.event(&json::past(past, None));
    }
    if past.is_empty() {
        out.say(match (is_narrowed, direction) {
            (true, _) => "Nothing of that kind is here.",
            (false, Some(Direction::Receiving)) => {
                "Nothing was received yet. `ringway recv` receives; `ringway inbox --all` shows what was sent, too."
            }
            (false, Some(_)) => "Nothing was sent yet. `ringway send FOLDER HOST` sends.",
            (false, None) => "Nothing was sent or received yet.",
        });
        return Ok(());
    }
    let now = SystemTime::now();
    let heading = ["NO", "WHEN", "", "DEVICE", "WHAT", "FILES", "SIZE", "HOW IT ENDED"].map(str::to_owned);
    let rows = past.iter().map(|past| {
        [
            past.number.to_string(),
            ago(past.report.ended_at, now),
            way(past.direction).to_owned(),
            device(past),
            title(past),
            files(past),
            size(past),
            ending(past),
        ]
    });
    table(std::iter::once(heading).chain(rows).collect()).into_iter().for_each(|line| out.say(line));
    if past.len() as u64 == u64::from(args.limit) {
        let last = past.last().map_or(0, |past| past.number);
        out.say(format_args!("There may be earlier ones: --before {last} goes on from here, -n shows more at once."));
    }
    Ok(())
}

fn way(direction: Direction) -> &'static str {
    match direction {
        Direction::Sending => "sent to",
        Direction::Receiving => "from",
        Direction::Copying => "copied",
    }
}

/// The other device as it was called then, or else whom it was to reach.
fn device(past: &Past) -> String {
    let name = past.peer.as_ref().or(past.target.as_ref());
    name.map(for_terminal).unwrap_or_default()
}

fn title(past: &Past) -> String {
    and_more(for_terminal(&past.title), past.more_names)
}

/// How many are there. Of what failed without a receipt nobody has counted them.
fn files(past: &Past) -> String {
    match (&past.report.outcome, past.report.counts.files) {
        (Outcome::Failed(_), 0) => String::new(),
        (_, files) => count(files),
    }
}

/// How much is there. Of what did not come to its end, of how much.
fn size(past: &Past) -> String {
    let Report { counts, bytes_planned, outcome, .. } = &past.report;
    match outcome {
        Outcome::Failed(_) if *bytes_planned > 0 => format!("{} of {}", bytes(counts.bytes), bytes(*bytes_planned)),
        Outcome::Failed(_) | Outcome::Complete | Outcome::Partial => bytes(counts.bytes),
    }
}

/// In a word or two; the sentences are for one that is shown.
fn ending(past: &Past) -> String {
    match &past.report.outcome {
        Outcome::Complete => "complete".to_owned(),
        Outcome::Partial => format!("{} failed", count(past.report.counts.failed)),
        Outcome::Failed(error) => match error {
            ringway_model::Fault::Cancelled { .. } | ringway_model::Fault::PeerForgotten => "stopped".to_owned(),
            ringway_model::Fault::NoLongerShared { .. } => "share ended".to_owned(),
            ringway_model::Fault::Declined(_) => "declined".to_owned(),
            ringway_model::Fault::Unanswered => "not answered".to_owned(),
            ringway_model::Fault::ProgramEnded => "interrupted".to_owned(),
            _ => "failed".to_owned(),
        },
    }
}

fn shown(past: &Past, details: &PastDetails, again: Option<&Again>, now: SystemTime) -> Vec<String> {
    let report = &past.report;
    let mut lines = Vec::new();
    let mut line = |what: &str, text: String| {
        let what = if what.is_empty() { String::new() } else { format!("{what}:") };
        lines.push(format!("{what:13}{text}"));
    };
    line("What", title(past));
    match past.direction {
        Direction::Sending => line("Sent to", device(past)),
        Direction::Receiving => line("From", device(past)),
        Direction::Copying => line("Copied", "inside this machine".to_owned()),
    }
    if let Some(place) = &past.in_share {
        line(if past.is_got() { "Share" } else { "Drop box" }, for_terminal(place));
    }
    line("When", ago(report.ended_at, now));
    let peer = past.peer.as_ref().map(for_terminal);
    match &report.outcome {
        Outcome::Complete => line("Ended", "complete".to_owned()),
        Outcome::Partial => line("Ended", format!("{} did not make it", words::entries(report.counts.failed))),
        Outcome::Failed(error) => {
            let words = words::error_of(error, past.direction, past.is_got(), peer.as_deref());
            line("Ended", words.what);
            words.next.into_iter().for_each(|next| line("", next));
        }
    }
    let counts = [(report.counts.files, "file"), (report.counts.folders, "folder"), (report.counts.links, "link")];
    let counts: Vec<_> = counts.into_iter().filter(|(n, _)| *n > 0).map(|(n, noun)| counted(n, noun)).collect();
    if !counts.is_empty() || report.counts.bytes > 0 {
        line("There", counts.into_iter().chain([size(past)]).collect::<Vec<_>>().join(", "));
    }
    if report.counts.unchanged > 0 {
        line("Unchanged", format!("{} of them", count(report.counts.unchanged)));
    }
    if report.counts.skipped > 0 {
        line("Skipped", format!("{} of them left as found there", count(report.counts.skipped)));
    }
    if !matches!(report.outcome, Outcome::Failed(_)) && report.counts.moved < report.counts.bytes {
        line("Sent", bytes(report.counts.moved));
    }
    if report.counts.edited > 0 {
        line("Kept", format!("{} that differed at the receiver", counted(report.counts.edited, "file")));
    }
    if report.counts.excluded > 0 {
        line("Left out", format!("{}, as asked", words::entries(report.counts.excluded)));
    }
    if report.counts.acls_lost > 0 {
        line(
            "Lists",
            format!(
                "{} without their access control lists (--acls keeps them)",
                words::entries(report.counts.acls_lost)
            ),
        );
    }
    if report.counts.owners_by_number > 0 {
        line("Owners", format!("{} by number, as nobody has the name", words::entries(report.counts.owners_by_number)));
    }
    let patterns = again.map(|again| &*again.selection().patterns).unwrap_or_default();
    for (index, pattern) in patterns.iter().take(PATTERNS_SHOWN_MAX).enumerate() {
        let text = OsString::from_vec(selection::to_line(pattern));
        line(if index == 0 { "Patterns" } else { "" }, for_terminal(text));
    }
    if let Some(more @ 1..) = patterns.len().checked_sub(PATTERNS_SHOWN_MAX) {
        line("", format!("and {} more", count(more as u64)));
    }
    if let Some(proven) = &report.proven {
        line("Proven", format!("{}, {}", counted(proven.files, "file"), bytes(proven.bytes)));
    }
    if !report.running_for.is_zero() {
        line("Took", took(report.running_for));
    }
    if let Some((average, highest)) = rates(details) {
        line("Rate", format!("{} on average, {} at its highest, measured here", rate(average), rate(highest)));
    }
    if let Some(bottleneck) = report.limited_by {
        line("Limited by", pace::bottleneck(bottleneck, past.direction, past.is_got(), &device(past)));
    }
    if report.reconnected > 0 {
        line("Connection", format!("lost {}, and went on", counted(report.reconnected.into(), "time")));
    }
    for (index, path) in past.paths.iter().enumerate() {
        let what = match (index, past.direction) {
            (0, Direction::Sending) => "Source",
            (0, _) => "Lies at",
            _ => "",
        };
        line(what, for_terminal(path));
    }
    match again {
        Some(Again::Send(Resend { by_list: true, .. })) => line("Again", advised::send_again_by_list(past.number)),
        Some(Again::Get(Reget { by_list: true, .. })) => line("Again", advised::get_again_by_list(past.number)),
        Some(Again::Send(_)) => line("Again", advised::send_again(past.number)),
        Some(Again::Get(_)) => line("Again", advised::get_again(past.number)),
        None => {}
    }
    lines.extend(details.edits.iter().map(|edit| format!("  {}", words::edit(edit, past.direction))));
    if !details.failures.is_empty() {
        lines.push("Failed:".to_owned());
        let said = |failure| format!("  {}", words::failure(failure, past.direction, past.is_got(), peer.as_deref()));
        lines.extend(details.failures.iter().map(said));
        let unnamed = report.counts.failed.saturating_sub(details.failures.len() as u64);
        if unnamed > 0 {
            lines.push(format!("  and {} more", count(unnamed)));
        }
    }
    lines
}

/// Bytes a second, on average and at the highest; `None` if it was too short to tell.
fn rates(details: &PastDetails) -> Option<(f64, f64)> {
    let last = details.series.last()?;
    let average = last.bytes as f64 / last.at.as_secs_f64();
    let highest = pace::highest(&details.series).unwrap_or(average);
    (last.at >= Duration::from_millis(500)).then_some((average, highest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_engine::Landing;
    use ringway_model::{
        Counts, DeviceId, Edit, Failure, FailureReason, Fault, Operation, Pattern, Selection, SeriesPoint, Side,
        TransferId,
    };

    fn past(outcome: Outcome) -> Past {
        Past {
            number: 7,
            id: TransferId([1; 16]),
            direction: Direction::Receiving,
            peer: Some("lap\u{202e}top".into()),
            peer_id: Some(DeviceId([2; 32])),
            title: "da\x1bta".into(),
            more_names: 2,
            target: None,
            in_share: None,
            paths: vec!["/in/data".into(), "/in/b".into()],
            report: Report {
                counts: Counts {
                    files: 1_204,
                    folders: 1,
                    bytes: 2_100_000_000,
                    moved: 2_100_000_000,
                    unchanged: 4,
                    edited: 1,
                    excluded: 2,
                    failed: 101,
                    ..Counts::default()
                },
                running_for: Duration::from_millis(2_000),
                reconnected: 1,
                ..Report::new(outcome, SystemTime::UNIX_EPOCH)
            },
        }
    }

    fn details() -> PastDetails {
        let point = |ms, bytes| SeriesPoint {
            at: Duration::from_millis(ms),
            bytes,
            entries: 0,
            limited_by: None,
            reconnected: 0,
        };
        let failure = Failure {
            path: "data/x\ny".into(),
            side: Side::There,
            operation: Operation::Write,
            reason: FailureReason::Os { errno: 28 },
        };
        PastDetails {
            edits: vec![Edit { path: "data/p2".into(), beside: "p\u{202e}2".into() }],
            failures: vec![failure],
            series: vec![point(0, 0), point(1_000, 2_000_000), point(2_000, 3_000_000)],
        }
    }

    #[test]
    fn one_is_shown_with_all_that_is_known_and_no_name_plays_tricks() {
        let now = SystemTime::UNIX_EPOCH + Duration::from_secs(7_300);
        let text = shown(&past(Outcome::Partial), &details(), None, now).join("\n");
        assert_eq!(
            text,
            "What:        da\\u{1b}ta and 2 more\n\
             From:        lap\\u{202e}top\n\
             When:        2 hours ago\n\
             Ended:       101 entries did not make it\n\
             There:       1,204 files, 1 folder, 2.1 GB\n\
             Unchanged:   4 of them\n\
             Kept:        1 file that differed at the receiver\n\
             Left out:    2 entries, as asked\n\
             Took:        2.0 s\n\
             Rate:        1.5 MB/s on average, 2.0 MB/s at its highest, measured here\n\
             Connection:  lost 1 time, and went on\n\
             Lies at:     /in/data\n\
             \x20            /in/b\n  data/p2: differs here and is kept; what was received is beside it as p\\u{202e}2\n\
             Failed:\n  data/x\\ny: could not be written on lap\\u{202e}top: No space left on device\n  and 100 more"
        );
    }

    #[test]
    fn what_can_be_sent_again_says_how() {
        let in_share = Some("inbox/sub".into());
        let target = Some("laptop".into());
        let sent = Past { direction: Direction::Sending, target, in_share, ..past(Outcome::Partial) };
        let taken = (0..11).map(|number| Pattern::Include(format!("p{number}").into()));
        let patterns = [Pattern::Exclude("*.o".into())].into_iter().chain(taken).collect();
        let selection = Selection { patterns, paths: None };
        let resend =
            Resend { sources: Vec::new(), selection: selection.clone(), by_list: false, verify: false, in_share: None };
        let again = Again::of(Some(resend), None);
        let lines = shown(&sent, &PastDetails::default(), again.as_ref(), SystemTime::now());
        assert!(lines.contains(&"Patterns:    *.o".to_owned()), "{lines:?}");
        assert!(lines.contains(&"Drop box:    inbox/sub".to_owned()), "{lines:?}");
        assert!(
            lines.contains(&"             !p0".to_owned()) && lines.contains(&"             and 2 more".to_owned())
        );
        assert_eq!(lines.last().map(String::as_str), Some("Again:       ringway send --again 7"));
        let landing = Landing::default();
        let reget = Reget {
            paths: Vec::new(),
            selection,
            by_list: false,
            destination: "/in".into(),
            folder: None,
            landing,
            verify: false,
        };
        let again = Again::of(None, Some(reget));
        let got = Past { target: Some("lab-ws".into()), in_share: Some("runs/night".into()), ..past(Outcome::Partial) };
        let lines = shown(&got, &PastDetails::default(), again.as_ref(), SystemTime::now());
        assert!(lines.contains(&"Patterns:    *.o".to_owned()), "{lines:?}");
        assert!(lines.contains(&"Share:       runs/night".to_owned()), "{lines:?}");
        assert!(lines.contains(&"Again:       ringway get --again 7".to_owned()), "{lines:?}");
    }

    #[test]
    fn failures_have_their_sentences_and_lists_a_word() {
        let mut failed = past(Outcome::Failed(Fault::DestinationFull { shortage: None }));
        failed.report.bytes_planned = 12_000_000_000;
        assert_eq!((ending(&failed), size(&failed)), ("failed".to_owned(), "2.1 GB of 12 GB".to_owned()));
        let text = shown(&failed, &PastDetails::default(), None, SystemTime::now()).join("\n");
        assert!(text.contains("Ended:       The disk filled up during the transfer."), "{text}");
        assert_eq!(ending(&past(Outcome::Failed(Fault::cancelled(Side::There)))), "stopped");
        assert_eq!(ending(&past(Outcome::Partial)), "101 failed");
    }

    #[test]
    fn a_short_one_has_no_rate() {
        let mut short = details();
        short.series.truncate(1);
        assert_eq!(rates(&short), None);
        short.series.clear();
        assert_eq!(rates(&short), None);
    }
}
