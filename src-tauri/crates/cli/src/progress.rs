//! Following one transfer to its end: the bar, the sparse lines where there is no terminal, the
//! JSON lines, and the last word.
use std::sync::Arc;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use ringway_engine::Transfer;
use ringway_model::{Direction, Fault, OnCancel, Outcome, PackedBytes, Progress, Proven, Report, Stage};

use crate::ask::prompt;
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::json::{self, Event};
use crate::output::Output;
use crate::text::{and_more, bytes, clock, count, counted, for_terminal, rate, took};
use crate::words::pace;
use crate::words::path_taken;
use crate::words::{self, Words};

/// How often the figures are looked at: smooth to the eye, nothing to the processor.
const LOOK_EVERY: Duration = Duration::from_millis(100);

/// How often programs are told: enough for a graph, little to parse.
const TELL_EVERY: Duration = Duration::from_millis(250);

/// How often a log that nobody watches gets a line.
const LOG_EVERY: Duration = Duration::from_secs(30);

/// The same where a line now and then was asked for.
const STEADY_LOG_EVERY: Duration = Duration::from_secs(1);

/// What is over sooner gets no bar: it would only flash.
const BAR_AFTER: Duration = Duration::from_millis(300);

/// Bytes below which a rate says more about handshakes than about the line.
const RATED_MIN: u64 = 1_000_000;

/// Failed files that are named without --verbose: what fits a screen.
const FAILURES_SHOWN: usize = 20;

/// The bar is drawn by us, as one message: the engine smooths rates better than a bar that sees
/// only totals, and what is set at once is drawn at once.
const TEMPLATE: &str = "{spinner} {msg}";

/// Characters between a bar's brackets: with the figures beside it, a line fits 80 columns.
const BAR_WIDTH: usize = 24;

/// Characters of a title that a line has room for.
const TITLE_MAX: usize = 40;

/// Said once Ctrl-C has ended a transfer that is to be put in order.
const STOPPING: &str = "Stopping cleanly; Ctrl-C again quits at once.";

/// What SIGTERM and SIGHUP do to a transfer that is followed, unless it is about to end itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Terminated {
    /// They leave it as it is, and end the process.
    Leaves,
    /// Somebody else sees to that.
    Elsewhere,
    /// They stop it as Ctrl-C does.
    Cancels,
}

/// Follows `transfer` to its end, telling as it goes, and asks it to stop when the person does.
/// Says the last word. SIGTERM leaves a sender's as it is; of a receiver there is more to end than
/// one transfer, so that it sees to that itself.
pub(crate) async fn follow(transfer: &Transfer, out: &Output, interrupts: &Interrupts) -> Arc<Report> {
    let terminated = match transfer.direction() {
        Direction::Sending => Terminated::Leaves,
        Direction::Receiving => Terminated::Elsewhere,
        Direction::Copying => Terminated::Cancels,
    };
    if terminated == Terminated::Leaves {
        interrupts.end_unread();
    }
    follow_as(transfer, out, interrupts, terminated, STOPPING).await
}

/// The same for a transfer that this command dials for, in whichever direction: it is all that the
/// command does, so that SIGTERM leaves it as it is.
pub(crate) async fn follow_dialled(transfer: &Transfer, out: &Output, interrupts: &Interrupts) -> Arc<Report> {
    interrupts.end_unread();
    follow_as(transfer, out, interrupts, Terminated::Leaves, STOPPING).await
}

/// The same for a dry run, in which nothing is to be put in order.
pub(crate) async fn follow_dry_run(transfer: &Transfer, out: &Output, interrupts: &Interrupts) -> Arc<Report> {
    interrupts.end_unread();
    follow_as(transfer, out, interrupts, Terminated::Cancels, "").await
}

/// `stopping` is said where Ctrl-C ends it.
async fn follow_as(
    transfer: &Transfer,
    out: &Output,
    interrupts: &Interrupts,
    terminated: Terminated,
    stopping: &str,
) -> Arc<Report> {
    let mut view = View::new(transfer, out);
    let mut ticks = tokio::time::interval(LOOK_EVERY);
    let wait = transfer.wait();
    let asked = interrupts.asked();
    tokio::pin!(wait, asked);
    let mut continued = interrupts.continued();
    let mut is_stopping = false;
    let report = loop {
        tokio::select! {
            report = &mut wait => break report,
            () = &mut asked, if !is_stopping => {
                is_stopping = true;
                match terminated {
                    Terminated::Leaves if interrupts.is_terminated() => {
                        if transfer.ends_soon().await {
                            continue;
                        }
                        // First, because nobody may read what is said.
                        transfer.note_left();
                        view.end();
                        leave(out, interrupts.exit(), 1);
                    }
                    Terminated::Elsewhere if interrupts.is_terminated() => continue,
                    _ => {}
                }
                if !stopping.is_empty() {
                    out.say(stopping);
                }
                transfer.cancel(OnCancel::Keep);
            }
            Ok(()) = continued.changed() => transfer.resume(),
            _ = ticks.tick() => view.show(&transfer.progress()),
        }
    };
    view.end();
    report
}

/// Ends this process as if it had been killed, which is what journals are for: stopped in good
/// order, its transfers would take away what they have brought.
pub(crate) fn leave(out: &Output, exit: Exit, transfers: u64) -> ! {
    out.event(&Event::Stopping { left: transfers });
    let what = counted(transfers, "transfer");
    let signal = if exit == Exit::HungUp { "SIGHUP" } else { "SIGTERM" };
    out.warn(format_args!("Ended by {signal}; {what} had not: the same again goes on from there."));
    prompt::restore_echo();
    ringway_engine::close_folders();
    std::process::exit(exit as i32)
}

/// What is shown of one transfer.
struct View<'a> {
    transfer: &'a Transfer,
    out: &'a Output,
    bar: Option<ProgressBar>,
    stage: Option<Stage>,
    /// Its beginning was told.
    started: bool,
    /// A log was told of a loss.
    interrupted: bool,
    begun: Instant,
    told: Option<Instant>,
    logged: Instant,
}

impl<'a> View<'a> {
    fn new(transfer: &'a Transfer, out: &'a Output) -> Self {
        let bar = out.bar();
        if let Some(bar) = &bar {
            // The template is a constant of this module, and a test reads it.
            bar.set_style(ProgressStyle::with_template(TEMPLATE).unwrap_or_else(|_| ProgressStyle::default_spinner()));
        }
        let now = Instant::now();
        let view = Self {
            transfer,
            out,
            bar,
            stage: None,
            started: false,
            interrupted: false,
            begun: now,
            told: None,
            logged: now,
        };
        if view.is_copy() {
            // Nobody is waited for, so it has; and a short one is over before it is looked at.
            out.event(&json::started(transfer, &transfer.progress()));
        }
        view
    }

    fn is_copy(&self) -> bool {
        self.transfer.direction() == Direction::Copying
    }

    fn show(&mut self, progress: &Progress) {
        let changed = self.stage != Some(progress.stage);
        if changed {
            self.enter(progress);
        }
        if progress.stage == Stage::Ended {
            return;
        }
        if self.out.is_json() {
            if changed || self.told.is_none_or(|told| told.elapsed() >= TELL_EVERY) {
                self.told = Some(Instant::now());
                self.out.event(&json::progress(self.transfer.id(), progress));
            }
        } else if let Some(bar) = &self.bar {
            if !self.is_copy() || self.begun.elapsed() >= BAR_AFTER {
                bar.set_message(shown(self.transfer, progress));
                bar.tick();
            }
        } else if self.logged.elapsed() >= if self.out.is_steady() { STEADY_LOG_EVERY } else { LOG_EVERY } {
            self.logged = Instant::now();
            let (title, message) = (title(self.transfer), message(self.transfer, progress));
            let counts = match is_uncounted(self.transfer.direction(), progress) {
                true => so_far(progress).0,
                false => counts(progress),
            };
            let limited = limited(self.transfer, progress).map(|by| format!(", {by}")).unwrap_or_default();
            self.out.figures(format_args!("{title}: {counts}, {message}{limited}"));
        }
    }

    fn enter(&mut self, progress: &Progress) {
        let begun = matches!(progress.stage, Stage::Running | Stage::Finishing | Stage::Verifying);
        if begun && !self.started && !self.is_copy() {
            self.started = true;
            self.out.event(&json::started(self.transfer, progress));
            if let Some((id, name)) = self.transfer.peer() {
                self.out.detail(format_args!("Connected to {} ({})", for_terminal(name), id.short()));
            }
        }
        // A log gets a line for a loss and one for its end, not for each try.
        let interruption = progress.interruption.filter(|_| self.bar.is_none());
        if let Some(waits) = interruption.filter(|_| !self.interrupted) {
            self.interrupted = true;
            let says =
                waits.says(self.transfer.direction(), self.transfer.is_got(), peer_name(self.transfer).as_deref());
            self.out.say(format_args!("{}: {}", title(self.transfer), says.what()));
        } else if begun && std::mem::take(&mut self.interrupted) {
            self.out.say(format_args!("{}: Connected again. Resuming", title(self.transfer)));
        }
        self.stage = Some(progress.stage);
    }

    fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// What a person calls it: the first name, and how many more.
pub(crate) fn title(transfer: &Transfer) -> String {
    let (name, more) = transfer.title();
    and_more(for_terminal(name), more)
}

/// The other side's name.
fn peer(transfer: &Transfer) -> String {
    peer_name(transfer).unwrap_or_else(|| "the other device".to_owned())
}

/// What the other device is called, where that is known.
pub(crate) fn peer_name(transfer: &Transfer) -> Option<String> {
    transfer.peer().map(|(_, name)| for_terminal(name))
}

/// Figures while bytes move, else where the transfer stands.
fn message(transfer: &Transfer, progress: &Progress) -> String {
    match progress.stage {
        Stage::Running if is_uncounted(transfer.direction(), progress) => so_far(progress).1,
        Stage::Running => figures(progress),
        Stage::Verifying => format!("read back {}", figures(progress)),
        _ => {
            let says = progress.says(transfer.direction(), transfer.is_got(), peer_name(transfer).as_deref());
            says.map(|says| says.what()).unwrap_or_default()
        }
    }
}

/// What stands at the bottom of the terminal: two lines while bytes move, a third once it is known
/// what limits that, one while there is nothing to measure.
fn shown(transfer: &Transfer, progress: &Progress) -> String {
    let (title, message) = (short(title(transfer)), message(transfer, progress));
    match progress.stage {
        _ if is_uncounted(transfer.direction(), progress) => {
            format!("{title}: {}\n  {message}", so_far(progress).0)
        }
        Stage::Running | Stage::Verifying => {
            let limited = limited(transfer, progress).map(|by| format!("\n  {by}")).unwrap_or_default();
            format!("{title}: {}\n  {}  {message}{limited}", counts(progress), bar(progress))
        }
        _ => format!("{title}: {message}"),
    }
}

/// `limited by: writing on lab-ws`
fn limited(transfer: &Transfer, progress: &Progress) -> Option<String> {
    let what = progress.limited_by?;
    Some(format!("limited by: {}", pace::bottleneck_of(what, transfer, &peer(transfer))))
}

/// A copy finds its entries as it goes, so that a share of what was found is always near the whole:
/// none is claimed until all is counted.
fn is_uncounted(direction: Direction, progress: &Progress) -> bool {
    direction == Direction::Copying && progress.stage == Stage::Running && !progress.totals_final
}

/// Entries, and bytes with their rate, where there is no whole to measure them by.
fn so_far(progress: &Progress) -> (String, String) {
    let mut entries = format!("{} so far", words::entries(progress.entries_done));
    if progress.failed > 0 {
        entries.push_str(&format!(", {} failed", count(progress.failed)));
    }
    (entries, format!("{}, {}", bytes(progress.bytes_done), pace_now(progress)))
}

/// `[=====>      ]  45%`
fn bar(progress: &Progress) -> String {
    let share = progress.bytes_done as f64 / progress.bytes_total.max(1) as f64;
    let share = if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 };
    let full = (share * BAR_WIDTH as f64) as usize;
    let done = "=".repeat(full) + if full < BAR_WIDTH { ">" } else { "" };
    format!("[{done:BAR_WIDTH$}] {:>3}%", (share * 100.0) as u32)
}

/// "At least" stands before totals that may still grow.
fn at_least(progress: &Progress) -> &'static str {
    if progress.totals_final { "" } else { "at least " }
}

/// Bytes, rate and time.
fn figures(progress: &Progress) -> String {
    let (done, total) = (bytes(progress.bytes_done), bytes(progress.bytes_total));
    let mut line = format!("{done} of {}{total}, {}", at_least(progress), pace_now(progress));
    if let Some(left) = progress.time_left {
        line.push_str(&format!(", {} left", clock(rounded_up(left))));
    }
    line
}

/// The rate, or how long nothing has moved.
fn pace_now(progress: &Progress) -> String {
    match progress.stalled_for {
        Some(still) => format!("stalled for {}", clock(still)),
        None => rate(progress.bytes_per_s as f64),
    }
}

/// So that there is no time left only when there is nothing left.
fn rounded_up(time: Duration) -> Duration {
    Duration::from_secs(time.as_secs() + u64::from(time.subsec_nanos() > 0))
}

/// Entries, failures and who encrypts.
fn counts(progress: &Progress) -> String {
    let (done, total) = (count(progress.entries_done), words::entries(progress.entries_total));
    let mut line = format!("{done} of {}{total}", at_least(progress));
    if progress.failed > 0 {
        line.push_str(&format!(", {} failed", count(progress.failed)));
    }
    if let Some(encryption) = path_taken::encryption(progress.here, progress.there) {
        line.push_str(", ");
        line.push_str(encryption);
    }
    line
}

fn short(title: String) -> String {
    match title.char_indices().nth(TITLE_MAX) {
        Some((end, _)) => format!("{}...", &title[..end]),
        None => title,
    }
}

/// Tells what went wrong, and programs the end. Whether there is a good end to tell, too.
pub(crate) fn tell_end(
    transfer: &Transfer,
    report: &Report,
    out: &Output,
    words: impl Fn(&Fault) -> Words,
    dry_run: bool,
) -> bool {
    for failure in &report.failures {
        out.event(&json::entry_failed(transfer.id(), transfer.direction(), transfer.is_got(), failure));
    }
    for edit in &report.edits {
        out.event(&json::entry_kept(transfer.id(), edit));
    }
    let why = match &report.outcome {
        Outcome::Failed(error) => Some(words(error)),
        Outcome::Complete | Outcome::Partial => None,
    };
    out.event(&json::finished(transfer, report, why.as_ref(), dry_run));
    why.iter().for_each(|why| out.fault(why));
    name_failures(transfer, report, out);
    name_edits(report, transfer.direction(), out);
    why.is_none()
}

/// The last word on a transfer, for people and for programs.
pub(crate) fn conclude(transfer: &Transfer, report: &Report, out: &Output) {
    if tell_end(transfer, report, out, |fault| words::error_in(fault, transfer, peer_name(transfer).as_deref()), false)
    {
        out.say(summary(&title(transfer), &peer(transfer), transfer.direction(), report));
        if let Some(encryption) = path_taken::encryption(report.here, report.there) {
            out.say(format_args!("Encrypted by {encryption}."));
        }
        if let Some(what) = report.limited_by {
            let what = pace::bottleneck_of(what, transfer, &peer(transfer));
            out.say(format_args!("Limited by {what}."));
        }
        for path in &report.arrived {
            out.say(format_args!("  {}", for_terminal(path)));
        }
    }
    if let Some(path) = &report.left_behind {
        let path = for_terminal(path);
        out.warn(format_args!(
            "The staging folder {path} could not be removed. A later transfer into that folder removes it."
        ));
    }
    if let Some(why) = transfer.not_in_history() {
        out.warn(not_in_history(&why));
    }
    for (side, path) in [("Here", report.here), ("There", report.there)] {
        if let Some(path) = path {
            out.detail(format_args!("{side}: {}", path_taken::path_taken(path)));
        }
    }
    if let Some(times) = &report.times {
        for (side, time) in ["here", "there"].into_iter().zip(pace::times(times, transfer.direction())) {
            out.detail(format_args!("Time {side}: {time}"));
        }
    }
    if let Some(PackedBytes { contents, wire }) = report.packed {
        out.detail(format_args!("{} went packed, as {}", bytes(contents), bytes(wire)));
    }
    if report.lanes > 0 {
        out.detail(format_args!("{} used", counted(report.lanes.into(), "lane")));
    }
    if report.lanes_dropped > 0 {
        let dropped = counted(report.lanes_dropped.into(), "more lane");
        out.detail(format_args!("Done without {dropped}, which could not be opened or broke at once"));
    }
}

/// That a transfer could not be written down when it ended.
pub(crate) fn not_in_history(why: &Fault) -> String {
    format!("This transfer is not in the history. {}", words::error(why).what)
}

/// The failed ones by name, as many as a person wants to read.
fn name_failures(transfer: &Transfer, report: &Report, out: &Output) {
    let peer = peer_name(transfer);
    let shown = if out.is_verbose() { report.failures.len() } else { report.failures.len().min(FAILURES_SHOWN) };
    for failure in &report.failures[..shown] {
        out.warn(words::failure(failure, transfer.direction(), transfer.is_got(), peer.as_deref()));
    }
    let unnamed = report.counts.failed.saturating_sub(shown as u64);
    if unnamed > 0 && shown < report.failures.len() {
        out.warn(format_args!("{} more failed; --verbose or --json names them", count(unnamed)));
    } else if unnamed > 0 && shown > 0 {
        out.warn(format_args!("{} more failed", count(unnamed)));
    }
}

/// The files at the receiver that differ and stayed, by name, as many as a person wants to read.
fn name_edits(report: &Report, direction: Direction, out: &Output) {
    let shown = if out.is_verbose() { report.edits.len() } else { report.edits.len().min(FAILURES_SHOWN) };
    for edit in &report.edits[..shown] {
        out.warn(words::edit(edit, direction));
    }
    let unnamed = report.counts.edited.saturating_sub(shown as u64);
    if unnamed > 0 {
        out.warn(format_args!("{} more files that differ were kept", count(unnamed)));
    }
}

fn summary(title: &str, peer: &str, direction: Direction, report: &Report) -> String {
    let mut line = match direction {
        Direction::Sending => format!("Sent {title} to {peer}: "),
        Direction::Receiving => format!("Received {title} from {peer}: "),
        Direction::Copying => format!("Copied {title}: "),
    };
    line.push_str(&format!("{}, {}.", things(report), amount(report)));
    line.push_str(&stayed(report));
    if report.counts.reused > 0 {
        line.push_str(&format!(
            " {} were there already, in the files that were replaced.",
            bytes(report.counts.reused)
        ));
    }
    if let Some(proven) = &report.proven {
        line.push_str(&self::proven(proven, report.counts.files, direction, peer));
    }
    if report.reconnected > 0 {
        let times = if report.reconnected == 1 { "once".to_owned() } else { format!("{} times", report.reconnected) };
        line.push_str(&format!(" The connection was lost {times} on the way."));
    }
    if report.counts.edited > 0 {
        let place = if direction == Direction::Sending { "there" } else { "here" };
        line.push_str(&match report.counts.edited {
            1 => format!(" 1 file that differs {place} was kept."),
            files => format!(" {} files that differ {place} were kept.", count(files)),
        });
    }
    line.push_str(&left_out(report));
    if report.counts.acls_lost > 0 {
        let items = were(report.counts.acls_lost, "item");
        line.push_str(&format!(" {items} left without access control lists: {}.", kept_lists(direction)));
    }
    if report.counts.owners_by_number > 0 {
        let there = if direction == Direction::Sending { "there" } else { "here" };
        let items = were(report.counts.owners_by_number, "item");
        line.push_str(&format!(" {items} given an owner or group by number, because nobody has the name {there}."));
    }
    if report.counts.failed > 0 {
        line.push_str(&format!(" {} FAILED.", count(report.counts.failed)));
    }
    line
}

/// Who keeps access control lists, and how.
fn kept_lists(direction: Direction) -> &'static str {
    match direction {
        Direction::Sending => "the receiver keeps them with --acls, if its filesystem can",
        Direction::Receiving | Direction::Copying => "--acls keeps them, if the filesystem can",
    }
}

/// What patterns have left out, if anything.
fn left_out(report: &Report) -> String {
    match report.counts.excluded {
        0 => String::new(),
        excluded => format!(" {} left out, as asked.", words::entries(excluded)),
    }
}

/// What a send would send, or a get get, in one line.
pub(crate) fn planned_summary(transfer: &Transfer, report: &Report) -> String {
    let (verb, done) = match transfer.direction() {
        Direction::Receiving => ("get", "got"),
        Direction::Sending | Direction::Copying => ("send", "sent"),
    };
    let mut line = format!("Would {verb} {}: {}, {}.", title(transfer), things(report), bytes(report.counts.bytes));
    line.push_str(&left_out(report));
    if report.counts.failed > 0 {
        line.push_str(&format!(" {} would FAIL.", count(report.counts.failed)));
    }
    line.push_str(&format!(" Nothing was {done}."));
    line
}

/// How much is there, how much of it was sent, and in which time.
fn amount(report: &Report) -> String {
    let all = bytes(report.counts.bytes);
    match report.counts.moved {
        moved if moved == report.counts.bytes => format!("{all} in {}", pace(report)),
        0 => format!("{all}, none of it sent, in {}", took(report.running_for)),
        moved => format!("{all}, {} of it sent in {}", bytes(moved), pace(report)),
    }
}

/// What was not sent, and why not.
fn stayed(report: &Report) -> String {
    let mut line = String::new();
    let present = report.counts.present_bytes().saturating_sub(report.counts.reused);
    match (report.counts.unchanged, present) {
        (0, 0) => {}
        (0, _) => line.push_str(&format!(" {} were there already, from an earlier attempt.", bytes(present))),
        (items, 0) => line.push_str(&format!(" {} unchanged.", were(items, "item"))),
        (items, _) => line.push_str(&format!(" {} unchanged ({}).", were(items, "item"), bytes(present))),
    }
    if report.counts.skipped > 0 {
        let instead = if report.counts.skipped_bytes > 0 {
            format!(" (instead of {} offered)", bytes(report.counts.skipped_bytes))
        } else {
            String::new()
        };
        let they = if report.counts.skipped == 1 { "it was" } else { "they were" };
        line.push_str(&format!(" {} kept as {they}{instead}.", were(report.counts.skipped, "item")));
    }
    line
}

/// What of so many files was read back, and how long that took. Files that the receiver keeps by
/// its policy are not compared.
fn proven(proven: &Proven, all: u64, direction: Direction, peer: &str) -> String {
    let whose = if direction == Direction::Sending { format!("{peer}'s") } else { "the".to_owned() };
    let (files, time) = (counted(proven.files, "file"), took(proven.took));
    let kept = all.saturating_sub(proven.files);
    if proven.files == 0 && kept > 0 {
        return format!(" Nothing was verified: {} kept without comparing.", counted(kept, "file"));
    }
    let verified = format!(
        " Verified in {time}: {files}, {} read back from {whose} disk, equal to what was read.",
        bytes(proven.bytes)
    );
    match kept {
        0 => verified,
        _ => format!("{verified} NOT verified: {} kept without comparing.", counted(kept, "file")),
    }
}

/// Files, folders and links, as far as there are any.
pub(crate) fn things(report: &Report) -> String {
    let mut line = counted(report.counts.files, "file");
    for (number, noun) in [(report.counts.folders, "folder"), (report.counts.links, "link")] {
        if number > 0 {
            line.push_str(", ");
            line.push_str(&counted(number, noun));
        }
    }
    line
}

/// How long it took, and the rate where there is enough to speak of one.
pub(crate) fn pace(report: &Report) -> String {
    let mut line = took(report.running_for);
    let seconds = report.running_for.as_secs_f64();
    if seconds > 0.0 && report.counts.moved >= RATED_MIN {
        line.push_str(&format!(" ({})", rate(report.counts.moved as f64 / seconds)));
    }
    line
}

/// `1 file was`, `2 files were`.
fn were(number: u64, noun: &str) -> String {
    format!("{} {}", counted(number, noun), if number == 1 { "was" } else { "were" })
}

#[cfg(test)]
mod tests {
    use super::*;
    use ringway_model::{Counts, IoPath, PathTaken, TlsPath};

    fn progress() -> Progress {
        Progress {
            stage: Stage::Running,
            peer: None,
            peer_id: None,
            entries_done: 61_204,
            entries_total: 100_000,
            bytes_done: 1_500_000_000,
            bytes_moved: 1_500_000_000,
            bytes_total: 3_000_000_000,
            totals_final: true,
            failed: 0,
            running_for: Duration::from_secs(1),
            bytes_per_s: 1_400_000_000,
            entries_per_s: 50_000,
            time_left: Some(Duration::from_secs(12)),
            stalled_for: None,
            limited_by: None,
            limit_bytes_per_s: None,
            reconnected: 0,
            interruption: None,
            place: None,
            can_pause: true,
            lanes: 1,
            here: Some(PathTaken { tls: TlsPath::Kernel, io: IoPath::Uring }),
            there: Some(PathTaken { tls: TlsPath::Kernel, io: IoPath::Uring }),
        }
    }

    #[test]
    fn the_template_is_sound() {
        assert!(ProgressStyle::with_template(TEMPLATE).is_ok());
    }

    #[test]
    fn the_bar_keeps_its_width() {
        let at = |bytes_done, bytes_total| bar(&Progress { bytes_done, bytes_total, ..progress() });
        assert_eq!(at(0, 0), "[>                       ]   0%");
        assert_eq!(at(1, 2), "[============>           ]  50%");
        assert_eq!(at(2, 2), "[========================] 100%");
        assert_eq!(at(3, 2), "[========================] 100%");
        assert_eq!(at(999, 1_000), "[=======================>]  99%");
    }

    #[test]
    fn the_figures_say_what_is_firm() {
        let firm = progress();
        assert_eq!(figures(&firm), "1.5 GB of 3.0 GB, 1.4 GB/s, 0:12 left");
        assert_eq!(counts(&firm), "61,204 of 100,000 entries, kernel TLS at both ends");
        let growing = Progress { totals_final: false, time_left: None, failed: 2, here: None, ..firm };
        assert_eq!(figures(&growing), "1.5 GB of at least 3.0 GB, 1.4 GB/s");
        assert_eq!(counts(&growing), "61,204 of at least 100,000 entries, 2 failed");
        let stalled = Progress { stalled_for: Some(Duration::from_millis(12_900)), ..growing };
        assert_eq!(figures(&stalled), "1.5 GB of at least 3.0 GB, stalled for 0:12");
    }

    #[test]
    fn a_copy_that_is_not_counted_claims_no_share() {
        let growing = Progress { totals_final: false, here: None, there: None, ..progress() };
        assert!(is_uncounted(Direction::Copying, &growing) && !is_uncounted(Direction::Copying, &progress()));
        assert!(!is_uncounted(Direction::Sending, &growing));
        assert_eq!(so_far(&growing), ("61,204 entries so far".into(), "1.5 GB, 1.4 GB/s".into()));
        assert_eq!(so_far(&Progress { entries_done: 1, failed: 2, ..growing }).0, "1 entry so far, 2 failed");
    }

    #[test]
    fn a_long_title_leaves_room_for_the_figures() {
        assert_eq!(short("é".repeat(300)).chars().count(), TITLE_MAX + 3);
        assert_eq!(short("tree".into()), "tree");
    }

    fn whole_report() -> Report {
        Report {
            counts: Counts {
                files: 1_234,
                folders: 1,
                links: 2,
                bytes: 2_000_000_000,
                moved: 400_000_000,
                unchanged: 1,
                skipped: 2,
                skipped_bytes: 90_000_000,
                reused: 1_500_000_000,
                edited: 2,
                excluded: 4,
                acls_lost: 5,
                owners_by_number: 6,
                failed: 3,
            },
            proven: Some(Proven { files: 1_233, bytes: 1_900_000_000, took: Duration::from_millis(700) }),
            running_for: Duration::from_secs(2),
            reconnected: 2,
            lanes: 1,
            ..Report::new(Outcome::Partial, std::time::UNIX_EPOCH)
        }
    }

    #[test]
    fn the_amount_tells_what_was_sent_and_no_rate_of_what_was_not() {
        let of = |moved| {
            let mut report = whole_report();
            (report.outcome, report.counts.moved, report.counts.reused) = (Outcome::Complete, moved, 0);
            amount(&report)
        };
        assert_eq!(of(2_000_000_000), "2.0 GB in 2.0 s (1.0 GB/s)");
        assert_eq!(of(0), "2.0 GB, none of it sent, in 2.0 s");
        assert_eq!(of(1_000), "2.0 GB, 1.0 kB of it sent in 2.0 s");
    }

    #[test]
    fn the_summary_counts_everything() {
        let report = whole_report();
        assert_eq!(
            summary("tree", "lab-ws", Direction::Sending, &report),
            "Sent tree to lab-ws: 1,234 files, 1 folder, 2 links, 2.0 GB, 400 MB of it sent in 2.0 s (200 MB/s). \
             1 item was unchanged (10 MB). 2 items were kept as they were (instead of 90 MB offered). \
             1.5 GB were there already, in the files that were replaced. \
             Verified in 700 ms: 1,233 files, 1.9 GB read back from lab-ws's disk, equal to what was read. \
             NOT verified: 1 file kept without comparing. The connection was lost 2 times on the way. \
             2 files that differ there were kept. 4 entries left out, as asked. \
             5 items were left without access control lists: the receiver keeps them with --acls, if its filesystem \
             can. 6 items were given an owner or group by number, because nobody has the name there. 3 FAILED."
        );
    }
}
