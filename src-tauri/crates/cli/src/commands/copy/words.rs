//! The sentences about a copy: its result, what it chose, what failed and what to do next. Those
//! that the window says, too, are of `model::sentences`.
use std::borrow::Cow;
use std::ffi::OsString;
use std::io;
use std::path::Path;
use std::thread::available_parallelism;

use ringway_model::{
    CopyReport, Direction, Failure, FailureReason, Fault, IoMode, IoPath, OnExisting, Operation, Outcome, Report,
    sentences,
};
use rustix::io::Errno;
use rustix::process::{Resource, getrlimit};

use crate::args::copy::{CopyArgs, ReflinkArg};
use crate::progress::{pace, things};
use crate::text::{bytes, count, counted, for_terminal};
use crate::words::advised;
use crate::words::path_taken::sync_io;
use crate::words::{self, Words, entries};

fn is_cut_short(failure: &Failure) -> bool {
    matches!(failure.reason, FailureReason::CutShort { .. })
}

/// How to finish a copy that ended early: the very command. `words` are those behind `ringway
/// copy`, `None` if these would not select the same again. `began` is `None` if that is unknown
/// what that copy has made. Where the copy `made` its destination, the same command would go into
/// that the next time.
pub(super) fn go_on(failures: &[Failure], words: Option<&[OsString]>, began: Option<&str>, made: bool) -> String {
    let what = match (began, failures.iter().any(is_cut_short)) {
        (Some(_), false) => "",
        (Some(_), true) => "Files that were being overwritten are copied again. ",
        (None, _) => "Everything is copied again. ",
    };
    let once = match words {
        Some(_) => "",
        None => " Its patterns or list did not come from a file: give it the same again, or it copies other entries.",
    };
    match words.and_then(|words| advised::continue_copy(words, began, made)) {
        Some(command) => format!("{what}To finish the copy, run: {command}"),
        None => {
            let exact = if made { " with -T, since the destination is there now" } else { "" };
            let began = began.map_or_else(String::new, |began| format!(" with --continue {began}"));
            let and = if exact.is_empty() || began.is_empty() { "" } else { ", and" };
            format!("{what}To finish the copy, run the same command again{exact}{and}{began}.{once}")
        }
    }
}

/// What ended a copy early, and in what state it left things. `go_on` is how to finish it.
pub(super) fn error(fault: &Fault, report: &Report, destination: &Path, go_on: &str, dry_run: bool) -> Words {
    let words = Words::from(fault.says_of(Direction::Copying, false).with("destination", for_terminal(destination)));
    let moved = format!("{}, {}", things(report), bytes(report.counts.bytes));
    let so_far = sentences::copied_so_far(&moved).what();
    let state = match report.failures.iter().any(is_cut_short) {
        true => "Files that were being overwritten are incomplete.",
        false => "The file that was being written was removed.",
    };
    match fault {
        Fault::Cancelled { .. } if dry_run => Words::only(format!("{} Nothing was written.", words.what)),
        Fault::Cancelled { .. } => {
            Words { what: format!("{} {so_far} No new file is incomplete.", words.what), ..words }.and(go_on)
        }
        Fault::DestinationFull { .. } => Words { what: format!("{} {so_far} {state}", words.what), ..words }.and(go_on),
        Fault::DestinationGone => Words { what: format!("{} {so_far}", words.what), ..words },
        Fault::Path { operation: Operation::Create, source, .. } if source.kind() == io::ErrorKind::NotFound => {
            Words::new(words.what, "Check the spelling, or make that folder first (mkdir -p).")
        }
        Fault::Path { path, operation: Operation::Create, source } if source.kind() == io::ErrorKind::NotADirectory => {
            Words::new(
                format!("{} could not be created: the slash at its end asks for a folder.", for_terminal(path)),
                "Leave the slash out, or make the folder first (mkdir -p).",
            )
        }
        other => words::error(other),
    }
}

fn left_without_attributes(number: u64) -> String {
    let were = if number == 1 { "was" } else { "were" };
    format!("{} {were} left without their access lists or attributes.", entries(number))
}

/// The result in one line.
pub(super) fn summary(title: &str, report: &Report, args: &CopyArgs) -> String {
    let copy = report.copy.as_ref();
    let (specials, verified) = copy.map_or((0, 0), |copy| (copy.specials, copy.verified));
    let excluded = report.counts.excluded;
    if !args.dry_run
        && report.counts.failed > 0
        && report.counts.files
            + report.counts.folders
            + report.counts.links
            + report.counts.unchanged
            + report.counts.skipped
            + specials
            == 0
    {
        return format!("{} {} FAILED.", sentences::nothing_copied().what(), count(report.counts.failed));
    }
    let mut line = format!("{} {title}: {}", if args.dry_run { "Would copy" } else { "Copied" }, things(report));
    if specials > 0 {
        line.push_str(&format!(", {}", counted(specials, "special file")));
    }
    line.push_str(&format!(", {}", bytes(report.counts.bytes)));
    if !args.dry_run {
        line.push_str(&format!(" in {}", pace(report)));
    }
    line.push('.');
    let attributes_lost = copy.map_or(0, |copy| copy.attributes_lost);
    let sentences = [
        (report.counts.unchanged + report.counts.skipped, kept(report, args.existing(), args.r#continue.is_some())),
        (excluded, format!("{} left out, as asked.", entries(excluded))),
        (verified, format!("{} read back and found equal.", counted(verified, "file"))),
        (report.counts.failed, format!("{} FAILED.", count(report.counts.failed))),
        (attributes_lost, left_without_attributes(attributes_lost)),
        (args.dry_run.into(), "Nothing was written.".to_owned()),
    ];
    for (_, sentence) in sentences.iter().filter(|(number, _)| *number > 0) {
        line.push(' ');
        line.push_str(sentence);
    }
    line
}

fn kept(report: &Report, why: OnExisting, continued: bool) -> String {
    let number = report.counts.unchanged + report.counts.skipped;
    let (entries, were) = (entries(number), if number == 1 { "was" } else { "were" });
    let differ = match report.counts.skipped {
        0 => String::new(),
        1 => "; 1 of these differs from the source".to_owned(),
        skipped => format!("; {} of these differ from the source", count(skipped)),
    };
    match why {
        _ if continued => format!("{entries} {were} there already and kept{differ}."),
        OnExisting::Update => format!("{entries} {were} as new or newer there and kept{differ}."),
        OnExisting::Keep => format!("{entries} {were} already there and kept{differ}."),
        OnExisting::Replace => format!("{entries} {were} already there{differ}."),
    }
}

/// What was chosen and why, and what could not be kept, a line each.
pub(super) fn choices(report: &CopyReport, args: &CopyArgs) -> Vec<String> {
    let chunk = if args.chunk.is_some() { "as asked" } else { "chosen" };
    let mut lines = vec![
        format!("Destination's filesystem: {}", report.filesystem),
        format!("Threads: {} ({})", report.threads, threads(report.threads, args)),
    ];
    if !args.dry_run {
        lines.push(format!("Large files: chunks of {} ({chunk})", binary(report.chunk_bytes)));
        lines.push(reading(report, args));
        lines.push(contents(report));
    }
    if report.owners_lost > 0 {
        let who = entries(report.owners_lost);
        lines.push(format!("Owner or group not kept: {who} (only root gives files away)"));
    }
    if report.attributes_lost > 0 {
        let who = entries(report.attributes_lost);
        lines.push(format!(
            "Access lists or attributes not kept: {who} ({} does not take them, or not from this user)",
            report.filesystem
        ));
    }
    lines
}

fn threads(started: u64, args: &CopyArgs) -> String {
    let processors = available_parallelism().map_or(1, |number| number.get() as u64);
    match args.jobs {
        Some(asked) if asked > started => format!("{asked} were asked for; there was nothing for more"),
        Some(_) => "as asked".to_owned(),
        None if started < processors.min(2) => "there was nothing for more".to_owned(),
        None => format!("chosen; this machine has {}", counted(processors, "processor")),
    }
}

fn reading(report: &CopyReport, args: &CopyArgs) -> String {
    match report.io {
        IoPath::Uring if report.uring_bytes > 0 => {
            let why = if args.io == IoMode::Uring { "as asked" } else { "where that waited for a disk" };
            let depth = if args.queue_depth.is_some() { "as asked" } else { "chosen" };
            format!("Reading: io_uring {why}, {} requests in flight a thread ({depth})", report.queue_depth)
        }
        IoPath::Uring => {
            "Reading: plain system calls; it did not wait for a disk, so io_uring was not needed".to_owned()
        }
        IoPath::Sync(reason) => format!("Reading: plain system calls ({})", sync_io(reason)),
    }
}

fn contents(report: &CopyReport) -> String {
    // What was read ahead and then shared after all was not written.
    let by_ring = report.uring_bytes.min(report.buffered_bytes);
    let ways = [
        (report.reflinked_bytes, "shared with the source (reflink)"),
        (report.kernel_bytes, "copied inside the kernel"),
        (report.buffered_bytes - by_ring, "read and written"),
        (by_ring, "read through io_uring and written"),
    ];
    let said: Vec<String> =
        ways.iter().filter(|(size, _)| *size > 0).map(|(size, how)| format!("{} {how}", bytes(*size))).collect();
    format!("Contents: {}", if said.is_empty() { "none".to_owned() } else { said.join(", ") })
}

/// A size as --chunk takes it.
fn binary(size: u64) -> String {
    const K: u64 = 1 << 10;
    const M: u64 = 1 << 20;
    match size {
        _ if size >= M && size.is_multiple_of(M) => format!("{}M", size / M),
        _ if size >= K && size.is_multiple_of(K) => format!("{}K", size / K),
        _ => format!("{size} bytes"),
    }
}

/// What to do about failures, each advice once however many need it.
pub(super) fn advice(report: &Report, args: &CopyArgs) -> Vec<Cow<'static, str>> {
    let failures = &report.failures;
    let os = |errnos: &[Errno]| {
        failures.iter().any(|failure| {
            matches!(failure.reason, FailureReason::Os { errno } if errnos.iter().any(|known| known.raw_os_error() == errno))
        })
    };
    let not_shared = [Errno::OPNOTSUPP, Errno::XDEV, Errno::INVAL, Errno::NOTTY];
    let always = args.reflink == ReflinkArg::Always;
    let mut all = Vec::new();
    if always && os(&not_shared) {
        all.push("Blocks cannot be shared there: leave --reflink=always out, and bytes are copied instead.".into());
    }
    // The fault itself says what to do about a full disk.
    let is_told = |failure: &Failure| {
        let full = [Errno::NOSPC, Errno::DQUOT].map(|errno| FailureReason::Os { errno: errno.raw_os_error() });
        matches!(report.outcome, Outcome::Failed(Fault::DestinationFull { .. })) && full.contains(&failure.reason)
    };
    let untold = failures.iter().filter(|failure| !is_told(failure));
    for step in untold.filter_map(|failure| sentences::copy_step(failure).in_terminal()) {
        if !all.contains(&Cow::from(step.as_str())) {
            all.push(step.into());
        }
    }
    if os(&[Errno::ACCESS, Errno::PERM]) {
        all.push("A user with these permissions can copy them: run it again with sudo.".into());
    }
    all.extend(os(&[Errno::FBIG]).then(|| too_large(getrlimit(Resource::Fsize).current)));
    all
}

/// What keeps files from being larger: the process's limit, where it has one. Both answer with the
/// same error (write(2)), so that of the file system is named as well where it may be the lower
/// one.
fn too_large(limit: Option<u64>) -> Cow<'static, str> {
    let Some(limit) = limit else { return "The destination's file system does not take files that large.".into() };
    let limit_text = format!("This process may not write files of more than {} bytes", count(limit));
    match limit < FILE_SYSTEM_LIMIT_MIN {
        true => format!("{limit_text} (RLIMIT_FSIZE): `ulimit -f unlimited` lifts that for this shell.").into(),
        false => {
            format!("{limit_text} (RLIMIT_FSIZE, `ulimit -f`), or the destination's file system does not take them.")
                .into()
        }
    }
}

/// FAT takes the smallest files of those that are met: 4 GiB less a byte.
const FILE_SYSTEM_LIMIT_MIN: u64 = (4 << 30) - 1;

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;
    use ringway_model::{Counts, Side, SyncIoReason};
    use std::time::Duration;

    use crate::args::{Cli, Command};

    fn args(line: &[&str]) -> CopyArgs {
        match Cli::try_parse_from(["ringway", "copy", "a", "b"].iter().chain(line)).unwrap().command {
            Command::Copy(args) => *args,
            other => panic!("{other:?}"),
        }
    }

    fn copied() -> CopyReport {
        CopyReport {
            threads: 2,
            queue_depth: 32,
            chunk_bytes: 256 << 10,
            io: IoPath::Uring,
            filesystem: "ext4".into(),
            reflinked_bytes: 0,
            kernel_bytes: 0,
            buffered_bytes: 410_000_000,
            uring_bytes: 0,
            specials: 0,
            verified: 0,
            owners_lost: 0,
            attributes_lost: 0,
            began: None,
        }
    }

    fn report(copy: Option<CopyReport>) -> Report {
        Report {
            counts: Counts {
                files: 100_000,
                folders: 100,
                bytes: 410_000_000,
                moved: 410_000_000,
                ..Counts::default()
            },
            running_for: Duration::from_millis(1_600),
            copy,
            ..Report::new(Outcome::Complete, std::time::UNIX_EPOCH)
        }
    }

    fn failed(reason: FailureReason) -> Failure {
        Failure { path: "b/x".into(), side: Side::Here, operation: Operation::Write, reason }
    }

    #[test]
    fn the_summary_is_one_line() {
        assert_eq!(
            summary("dataset-v3", &report(Some(copied())), &args(&[])),
            "Copied dataset-v3: 100,000 files, 100 folders, 410 MB in 1.6 s (256 MB/s)."
        );
        let with = |counts, copy| Report { counts, ..report(copy) };
        let all = report(None).counts;
        let copy = CopyReport { verified: 9, specials: 2, ..copied() };
        let more = with(Counts { unchanged: 12, excluded: 3, failed: 1, ..all }, Some(copy));
        assert_eq!(
            summary("x", &more, &args(&["-u"])),
            "Copied x: 100,000 files, 100 folders, 2 special files, 410 MB in 1.6 s (256 MB/s). 12 entries were as new or newer there and kept. \
             3 entries left out, as asked. 9 files read back and found equal. 1 FAILED."
        );
        let nothing = with(Counts { failed: 1, ..Counts::default() }, Some(copied()));
        assert_eq!(summary("x", &nothing, &args(&[])), "Nothing was copied. 1 FAILED.");
        let differ = with(Counts { unchanged: 9, skipped: 3, ..all }, None);
        assert!(
            summary("x", &differ, &args(&["-n"]))
                .ends_with(" 12 entries were already there and kept; 3 of these differ from the source.")
        );
        let kept = with(Counts { unchanged: 1, ..all }, None);
        assert!(summary("x", &kept, &args(&["-n"])).ends_with(" 1 entry was already there and kept."));
        assert_eq!(
            summary("x", &kept, &args(&["--dry-run", "-u"])),
            "Would copy x: 100,000 files, 100 folders, 410 MB. 1 entry was as new or newer there and kept. Nothing was written."
        );
    }

    #[test]
    fn what_was_chosen_is_said_with_the_reason() {
        let lines = |report: &CopyReport, line: &[&str]| choices(report, &args(line)).join("\n");
        let plain = lines(&copied(), &[]);
        for part in
            ["ext4", "Threads: 2 (chosen; this machine has ", "256K (chosen)", "410 MB read and written", "not needed"]
        {
            assert!(plain.contains(part), "{part} in {plain}");
        }
        assert!(!plain.contains("not kept"), "{plain}");
        let alone = lines(&CopyReport { threads: 1, ..copied() }, &["-j", "3"]);
        assert!(alone.contains("Threads: 1 (3 were asked for; there was nothing for more)"), "{alone}");
        let dry = lines(&copied(), &["--dry-run"]);
        assert!(dry.contains("ext4") && !dry.contains("Reading") && !dry.contains("Contents"), "{dry}");
        let asked = CopyReport {
            chunk_bytes: 1 << 20,
            reflinked_bytes: 5_000,
            kernel_bytes: 6_000,
            buffered_bytes: 7_000,
            uring_bytes: 3_000,
            owners_lost: 1,
            attributes_lost: 2,
            ..copied()
        };
        let asked = lines(&asked, &["-j2", "-q", "32", "-c", "1M", "--io", "uring"]);
        for part in [
            "Threads: 2 (as asked)",
            "1M (as asked)",
            "io_uring as asked, 32 requests in flight a thread (as asked)",
            "5.0 kB shared with the source (reflink), 6.0 kB copied inside the kernel, 4.0 kB read and written, 3.0 kB read through io_uring",
            "Owner or group not kept: 1 entry",
            "Access lists or attributes not kept: 2 entries",
        ] {
            assert!(asked.contains(part), "{part} in {asked}");
        }
        let refused =
            lines(&CopyReport { io: IoPath::Sync(SyncIoReason::Forbidden), buffered_bytes: 0, ..copied() }, &[]);
        assert!(refused.contains("forbidden") && refused.contains("Contents: none"), "{refused}");
    }

    #[test]
    fn an_early_end_says_in_what_state_things_are() {
        let words = ["-j1".into(), "a b".into(), "c".into()];
        let way = |report: &Report, began, made| go_on(&report.failures, Some(&words), began, made);
        let error =
            |fault: &Fault, report: &Report, way: &str, dry_run| error(fault, report, Path::new("/c"), way, dry_run);
        let cancelled = Fault::cancelled(Side::Here);
        let plain = report(None);
        let stopped = error(&cancelled, &plain, &way(&plain, Some("1.5"), false), false);
        assert_eq!(stopped.what, "Cancelled. So far: 100,000 files, 100 folders, 410 MB. No new file is incomplete.");
        assert_eq!(
            stopped.next.unwrap(),
            "Files copied so far stay in /c. To finish the copy, run: ringway copy --continue 1.5 -j1 'a b' c"
        );
        let made = way(&plain, Some("1.5"), true);
        assert!(made.contains("ringway copy -T --continue 1.5 -j1"), "{made}");
        let unknown = way(&plain, None, false);
        assert_eq!(unknown, "Everything is copied again. To finish the copy, run: ringway copy -j1 'a b' c");
        let unprintable = go_on(&[], Some(&["\u{1b}".into(), "c".into()]), Some("1.5"), true);
        assert!(unprintable.contains("the same command again with -T, since"), "{unprintable}");
        assert!(unprintable.contains(" now, and with --continue 1.5."), "{unprintable}");
        let once = go_on(&[], None, Some("1.5"), true);
        assert!(once.contains("the same command again with -T, since") && !once.contains("run: "), "{once}");
        assert!(once.ends_with("give it the same again, or it copies other entries."), "{once}");
        let full = Report { failures: vec![failed(FailureReason::Os { errno: 28 })], ..report(None) };
        let full = error(&Fault::DestinationFull { shortage: None }, &full, &way(&full, Some("1.5"), false), false);
        assert_eq!(
            full.what,
            "No space left in /c. So far: 100,000 files, 100 folders, 410 MB. The file that was being written was removed."
        );
        assert!(full.next.unwrap().contains("Free up space or choose another folder, then copy again. To finish "));
        assert_eq!(error(&cancelled, &plain, "", true).what, "Cancelled. Nothing was written.");
        let cut = Report { failures: vec![failed(FailureReason::CutShort { errno: 125 })], ..report(None) };
        let stopped = error(&cancelled, &cut, &way(&cut, Some("1.5"), false), false);
        assert!(stopped.next.unwrap().contains("Files that were being overwritten are copied again. To finish"));
        let full = error(&Fault::DestinationFull { shortage: None }, &cut, &way(&cut, Some("1.5"), true), false);
        assert!(full.what.contains("incomplete") && !full.what.contains("removed"), "{full:?}");
        let gone = error(&Fault::DestinationGone, &plain, "", false);
        assert!(gone.what.starts_with("/c no longer exists. So far: 100,000 files"), "{gone:?}");
        let at_create = |path: &str, errno| Fault::Path {
            path: path.into(),
            operation: Operation::Create,
            source: io::Error::from_raw_os_error(errno).into(),
        };
        assert!(error(&at_create("x/y", 2), &report(None), "", false).next.unwrap().contains("mkdir -p"));
        assert!(error(&at_create("x", 20), &report(None), "", false).what.contains("slash"));
    }

    #[test]
    fn advice_fits_the_failures_and_is_given_once() {
        let advice = |failures: &[Failure], args: &CopyArgs| {
            advice(&Report { failures: failures.to_vec(), ..report(None) }, args)
        };
        let two = [
            failed(FailureReason::Os { errno: 30 }),
            failed(FailureReason::Os { errno: 30 }),
            failed(FailureReason::IntoItself),
        ];
        let given = advice(&two, &args(&[]));
        assert_eq!(given.len(), 2, "{given:?}");
        assert!(given[0].contains("writable") && given[1].contains("outside"), "{given:?}");
        let unshared = [failed(FailureReason::Os { errno: 95 })];
        assert_eq!(advice(&unshared, &args(&[])), Vec::<&str>::new());
        assert!(advice(&unshared, &args(&["--reflink"]))[0].contains("leave --reflink=always out"));
        for (errno, lines) in [(1, 2), (2, 1), (5, 1), (13, 2), (27, 1), (30, 1)] {
            assert_eq!(advice(&[failed(FailureReason::Os { errno })], &args(&[])).len(), lines, "{errno}");
        }
        for reason in [FailureReason::SameFile, FailureReason::InTheWay] {
            assert_eq!(advice(&[failed(reason)], &args(&[])).len(), 1, "{reason:?}");
        }
    }

    #[test]
    fn a_chunk_is_said_as_it_is_given() {
        assert_eq!(
            [binary(4096), binary(1 << 20), binary(1_000_000), binary(1536 << 10)],
            ["4K", "1M", "1000000 bytes", "1536K"]
        );
    }
}
