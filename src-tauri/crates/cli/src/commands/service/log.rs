//! What the service says of what happens: a line each for the journal or a file, or events for
//! programs. Codes are never among it.
use std::collections::HashSet;
use std::fmt::Display;
use std::fs::{self, OpenOptions};
use std::io;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context, Result};
use ringway_daemon::App;
use ringway_daemon::dto::{AppEvent, Left, Listening};
use ringway_engine::{Engine, Transfer, private};
use ringway_model::{
    DeviceId, Direction, Fault, Offer, Outcome, PairingRequest, Report, SettingsInForce, TransferId, UnderWay,
};
use tokio::task::JoinSet;

use super::shown;
use crate::args::ReportArgs;
use crate::json::{self, Event};
use crate::output::Output;
use crate::progress;
use crate::text::{bytes, for_terminal, utc};
use crate::words;

/// From this on a log file makes room: with the one before it, twice as much lies there.
const FILE_LEN_MAX: u64 = 1 << 20;

/// Time for the last ends to be said, once all has ended.
const LAST_WORDS_TIME_MAX: Duration = Duration::from_secs(1);

/// How much a line matters, as the journal counts it (sd-daemon(3)).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Level {
    /// The service does not do what it is there for.
    Error = 3,
    /// Something failed, or was refused.
    Warning = 4,
    /// What happens.
    Info = 6,
}

/// Where lines go. Clones are the same.
#[derive(Clone)]
struct Lines {
    out: Output,
    /// It has times of its own, and takes a line's level from its beginning.
    is_journal: bool,
    file: Option<PathBuf>,
}

impl Lines {
    fn say(&self, level: Level, line: impl Display) {
        if let Some(path) = &self.file {
            // A file that cannot be changed for another grows on.
            let _ = make_room(path, FILE_LEN_MAX);
        }
        match self.is_journal {
            true => self.out.say(format_args!("<{}>{line}", level as u8)),
            false => self.out.say(format_args!("{} {line}", stamp(SystemTime::now()))),
        }
    }
}

/// What is said of one service.
pub(crate) struct Log {
    lines: Lines,
    app: App,
    engine: Engine,
    offers: HashSet<TransferId>,
    /// Devices that want to pair, as they were said last.
    requests: HashSet<DeviceId>,
    ends: JoinSet<()>,
    port: Option<u16>,
}

impl Log {
    /// On standard output, or in a file, which standard output and error then go to, too.
    pub(crate) fn open(file: Option<&Path>, report: ReportArgs, app: App, engine: Engine) -> Result<Self> {
        if let Some(path) = file {
            redirect(path).with_context(|| for_terminal(path))?;
        }
        let lines = Lines { out: Output::from(report), is_journal: goes_to_journal(), file: file.map(Path::to_owned) };
        Ok(Self {
            lines,
            app,
            engine,
            offers: HashSet::new(),
            requests: HashSet::new(),
            ends: JoinSet::new(),
            port: None,
        })
    }

    pub(crate) fn say(&self, line: impl Display) {
        self.lines.say(Level::Info, line);
    }

    /// Says what is worth knowing of the surroundings and is no event of a transfer's.
    pub(crate) fn notices(&self) -> impl Fn(&str) + Send + Sync + use<> {
        let lines = self.lines.clone();
        move |text| {
            lines.out.event(&Event::Notice { text });
            lines.say(Level::Info, text);
        }
    }

    pub(crate) fn event(&self, event: &Event<'_>) {
        self.lines.out.event(event);
    }

    /// Says what has happened.
    pub(crate) fn take(&mut self, event: AppEvent) {
        match event {
            AppEvent::ListeningChanged { listening } => self.listening(listening),
            AppEvent::DevicePaired { device } => {
                // A store that cannot be read just now is said by what needs it.
                let alike = self.engine.look_alike(device.id, &device.name).ok().flatten();
                self.event(&json::paired(&device, alike.as_ref()));
                self.say(format_args!("paired with {}", device.name));
            }
            AppEvent::PairingFailed { failed } => {
                self.event(&json::auth_failed(&failed));
                self.lines.say(Level::Warning, words::pairing_failed(&failed));
            }
            AppEvent::RequestsChanged { requests } => self.requested(&requests),
            AppEvent::OfferChanged { offer } => self.offered(&offer),
            AppEvent::OfferGone { id, how } => self.answered(id, how),
            AppEvent::TransferStarted { transfer } => self.started(&transfer.transfer),
            AppEvent::SettingsChanged { settings } => {
                self.event(&Event::SettingsChanged(&settings));
                let SettingsInForce { settings, is_home } = settings;
                let (name, port, folder) = (settings.name, settings.port, settings.receive_folder);
                let home = if is_home { ", a home folder" } else { "" };
                let receives = if settings.receiving { format!("into {folder}{home}") } else { "not".to_owned() };
                self.say(format_args!("settings changed: {name}, port {port}, receives {receives}"));
            }
            AppEvent::NoteReceived { note } => {
                self.event(&Event::Note(&note));
                let (from, short) = (&note.from, note.from_id.short());
                self.say(format_args!("note {} of {from} ({short}), {}", note.number, bytes(note.bytes)));
            }
            AppEvent::NoteLost { from, from_id, why } => {
                let text = words::note::lost(&from, from_id, why.as_ref());
                self.event(&Event::Notice { text: &text });
                self.lines.say(Level::Warning, text);
            }
            // Lists, and what concerns windows only.
            AppEvent::DevicesChanged { .. }
            | AppEvent::NearbyChanged { .. }
            | AppEvent::OfferPicked { .. }
            | AppEvent::Dragged { .. }
            | AppEvent::Opened { .. }
            | AppEvent::ChosenCounted { .. }
            | AppEvent::NotesChanged { .. }
            | AppEvent::SharesChanged
            | AppEvent::WaitingChanged { .. }
            | AppEvent::ServiceLost { .. }
            | AppEvent::ServiceFound => {}
        }
    }

    fn listening(&mut self, listening: Listening) {
        match listening {
            Listening::On { addresses, port, .. } if self.port != Some(port) => {
                self.port = Some(port);
                let folder = self.app.receiving.folder();
                self.say(format_args!("receives into {}, {}", for_terminal(&folder), at(&addresses, port)));
                let (device, destination) = (self.engine.this_device(), folder.into());
                self.event(&Event::Listening(json::Listening { device, port, addresses, destination, own: None }));
            }
            Listening::On { .. } => {}
            Listening::Off { refused } => {
                self.port = None;
                if let Some(fault) = refused {
                    let words = words::error(&fault);
                    self.event(&json::error(&fault, &words));
                    self.lines.say(Level::Error, format_args!("receiving is not switched on: {}", words.what));
                }
            }
            Listening::Failed { fault, port } => {
                self.port = None;
                let words = words::error(&fault);
                self.event(&json::error(&fault, &words));
                self.lines.say(Level::Error, format_args!("cannot receive at port {port}: {}", words.what));
            }
        }
    }

    /// Each is said once, as long as it is shown.
    fn requested(&mut self, requests: &[PairingRequest]) {
        let before = std::mem::replace(&mut self.requests, requests.iter().map(|request| request.id).collect());
        for request in requests.iter().filter(|request| !before.contains(&request.id)) {
            self.event(&Event::PairingRequested(request));
            self.say(words::pairing_requested(request));
        }
    }

    fn offered(&mut self, offer: &Offer) {
        if !self.offers.insert(offer.id) {
            return;
        }
        self.event(&Event::OfferWaits(offer));
        let what = shown::names(&offer.names, offer.more_names);
        let (id, from, short) = (offer.id, &offer.from, offer.from_id.short());
        let because = shown::asked_because(offer).map(|why| format!(". {why}")).unwrap_or_default();
        self.say(format_args!("offer {id} of {from} ({short}): {what}, {} so far{because}", bytes(offer.bytes_so_far)));
    }

    fn answered(&mut self, id: TransferId, how: Left) {
        if !self.offers.remove(&id) {
            return;
        }
        let said = match how {
            Left::Accepted => "accepted",
            Left::Declined => "declined",
            Left::Overtaken => "declined, since this machine does not receive there any more",
            Left::Withdrawn => "withdrawn, or not answered in time",
        };
        self.event(&Event::Answered { id: id.to_string(), accepted: how == Left::Accepted, reason: None });
        self.say(format_args!("offer {id}: {said}"));
    }

    fn started(&mut self, moving: &UnderWay) {
        let Ok(transfer) = self.app.transfers.find(&moving.id) else { return };
        self.event(&json::started(&transfer, &transfer.progress()));
        self.say(format_args!(
            "transfer {} begins: {}",
            moving.id,
            about(&transfer, moving.target.as_deref().unwrap_or_default())
        ));
        let lines = self.lines.clone();
        self.ends.spawn(async move {
            let report = transfer.wait().await;
            lines.out.event(&json::finished(&transfer, &report, None, false));
            lines.say(level(&report), format_args!("transfer {} ended: {}", transfer.id(), ending(&transfer, &report)));
            if let Some(why) = transfer.not_in_history() {
                lines.say(Level::Warning, progress::not_in_history(&why));
            }
        });
        while self.ends.try_join_next().is_some() {}
    }

    /// Waits until all ends are said.
    pub(crate) async fn close(mut self) {
        let all = async { while self.ends.join_next().await.is_some() {} };
        let _ = tokio::time::timeout(LAST_WORDS_TIME_MAX, all).await;
    }
}

/// Whether standard output is what JOURNAL_STREAM names, by device and inode (systemd.exec(5)): a
/// program that a unit has started may have inherited the variable and write elsewhere.
fn goes_to_journal() -> bool {
    let Ok(named) = std::env::var("JOURNAL_STREAM") else { return false };
    rustix::fs::fstat(io::stdout()).is_ok_and(|found| named == format!("{}:{}", found.st_dev, found.st_ino))
}

fn about(transfer: &Transfer, target: &str) -> String {
    let what = progress::title(transfer);
    let peer = transfer.peer().map(|(_, name)| name);
    let other = for_terminal(peer.as_deref().unwrap_or(target));
    match transfer.direction() {
        Direction::Sending => format!("sends {what} to {other}"),
        Direction::Receiving => format!("receives {what} from {other}"),
        Direction::Copying => format!("copies {what} into {}", for_terminal(target)),
    }
}

/// What a person has stopped or declined has not failed.
fn level(report: &Report) -> Level {
    match &report.outcome {
        Outcome::Complete | Outcome::Failed(Fault::Cancelled { .. } | Fault::Declined(_)) => Level::Info,
        Outcome::Partial | Outcome::Failed(_) => Level::Warning,
    }
}

fn ending(transfer: &Transfer, report: &Report) -> String {
    let how = match &report.outcome {
        Outcome::Complete => "complete,".to_owned(),
        Outcome::Partial => format!("{} did not make it;", words::entries(report.counts.failed)),
        Outcome::Failed(error) => {
            return words::error_in(error, transfer, progress::peer_name(transfer).as_deref()).what;
        }
    };
    let (things, size) = (progress::things(report), bytes(report.counts.bytes));
    format!("{how} {things}, {size} in {}", progress::pace(report))
}

/// Appends standard output and error to this file from now on.
fn redirect(path: &Path) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        fs::create_dir_all(folder)?;
    }
    let file = private::open_file(OpenOptions::new().append(true).create(true), path)?;
    rustix::stdio::dup2_stdout(&file)?;
    rustix::stdio::dup2_stderr(&file)?;
    Ok(())
}

/// Sets a file aside that has grown to `len_max`, and begins another.
fn make_room(path: &Path, len_max: u64) -> io::Result<()> {
    if fs::metadata(path)?.len() < len_max {
        return Ok(());
    }
    let mut old = path.as_os_str().to_owned();
    old.push(".old");
    fs::rename(path, old)?;
    redirect(path)
}

/// A moment as RFC 3339 writes it, in UTC, to the second.
fn stamp(moment: SystemTime) -> String {
    utc(moment.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs() as i64)
}

/// Where others reach it, if they can.
fn at(addresses: &[String], port: u16) -> String {
    match addresses {
        [] => format!("at port {port}; this machine has no network, so only it can send"),
        addresses => format!("at {} (port {port})", addresses.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_machine_without_a_network_is_said_to_have_none() {
        assert_eq!(at(&["10.0.0.7".into(), "fd00::7".into()], 9), "at 10.0.0.7, fd00::7 (port 9)");
        assert_eq!(at(&[], 9), "at port 9; this machine has no network, so only it can send");
    }

    #[test]
    fn moments_are_written_as_dates() {
        let at = |seconds| stamp(UNIX_EPOCH + Duration::from_secs(seconds));
        // By `date -u -d @N`.
        assert_eq!(at(0), "1970-01-01T00:00:00Z");
        assert_eq!(at(951_782_399), "2000-02-28T23:59:59Z");
        assert_eq!(at(951_782_400), "2000-02-29T00:00:00Z");
        assert_eq!(at(1_795_334_461), "2026-11-22T08:01:01Z");
        assert_eq!(at(4_107_542_400), "2100-03-01T00:00:00Z");
    }
}
