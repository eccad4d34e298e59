//! `ringway ls`: what another device shares, and what is in it, printed as it arrives.
use std::fmt::Write;
use std::time::Duration;

use anyhow::Result;
use ringway_engine::{Browsed, Browser, Engine, Listed, PathInShare, Reference, Unread};
use ringway_model::{AuthError, Direction, EntryKind, EntryThere, Fault, Operation, PathText, ShareThere};
use tokio::sync::{mpsc, oneshot};
use tokio::time::sleep;

use crate::args::LsArgs;
use crate::commands::share::unavailable_for;
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::json::{self, Event};
use crate::output::Output;
use crate::refusal::Refusal;
use crate::text::{bytes, for_terminal, table, utc};
use crate::words::{self, advised};

/// Pages that wait to be printed, beside the one that is printed: what the other device sends
/// meanwhile waits in the session, which asks for no more.
const PRINTING_MAX: usize = 1;

/// The pauses before a device that is too busy to answer is asked again, in seconds.
const BUSY_WAITS: [u64; 6] = [1, 2, 4, 8, 15, 30];

/// Lists, until a signal asks for the end: nothing has to be put in order then.
pub(crate) async fn run(engine: &Engine, args: LsArgs, interrupts: &Interrupts) -> Result<Exit> {
    tokio::select! {
        biased;
        () = interrupts.asked() => Ok(interrupts.exit()),
        listed = list(engine, args) => listed,
    }
}

async fn list(engine: &Engine, args: LsArgs) -> Result<Exit> {
    let out = Output::from(args.report);
    let Reference { device, inside } = Reference::parse(&args.what)?;
    let target = engine.resolve(&device).map_err(|fault| not_reached(fault, &device))?;
    let mut waits = BUSY_WAITS.into_iter();
    loop {
        let mut browser = engine.browse(&target).await.map_err(|fault| not_reached(fault, &device))?;
        let listed = match &inside {
            None => shares(&mut browser, &out).await,
            Some(inside) => entries(&mut browser, inside, &args, &out).await,
        };
        let name = browser.device().name.clone();
        browser.close().await;
        // Who is too busy to answer has not answered at all, so nothing was printed.
        let is_busy = |error: &anyhow::Error| matches!(error.downcast_ref(), Some(Fault::AnswerBusy));
        let wait = listed.as_ref().err().filter(|error| is_busy(error)).and_then(|_| waits.next());
        let Some(wait) = wait else { return listed.map_err(|error| about(error, Some(&name))) };
        out.warn(format_args!("{} is busy. Trying again in {} s.", for_terminal(&name), wait));
        sleep(Duration::from_secs(wait)).await;
    }
}

/// What to do about a target that is none or not paired, in the words of this command.
fn not_reached(fault: Fault, device: &str) -> anyhow::Error {
    let next = match &fault {
        Fault::UnknownTarget { target } if !target.contains('%') => {
            "`ringway devices` lists the paired devices. Say DEVICE, DEVICE:SHARE or DEVICE:SHARE/PATH.".to_owned()
        }
        Fault::Auth(AuthError::PairingNeeded { .. }) => format!(
            "`ringway code --new` there shows a code. Pair with it here, then list again: {}",
            advised::pair(device)
        ),
        _ => return about(fault.into(), None),
    };
    Refusal::from(fault).advise(next).into()
}

/// What went wrong at a device, whose name may be known.
fn about(error: anyhow::Error, device: Option<&str>) -> anyhow::Error {
    let Some(fault) = error.downcast_ref::<Fault>() else { return error };
    let says = words::error_of(fault, Direction::Receiving, true, device);
    Refusal::of(fault.clone(), says).into()
}

async fn shares(browser: &mut Browser, out: &Output) -> Result<Exit> {
    let shares = browser.shares().await?;
    shares.iter().for_each(|share| out.event(&Event::ShareThere(share)));
    if shares.is_empty() {
        let device = for_terminal(&browser.device().name);
        out.say(format_args!(
            "{device} shares nothing with this device. There, `ringway share add FOLDER --with DEVICE` shares a folder."
        ));
    }
    let rows = shares.iter().map(|ShareThere { name, drop, unavailable, drop_trouble }| {
        let troubles = unavailable_for(*unavailable, *drop_trouble);
        let state = drop.then(|| "drop box".to_owned()).into_iter().chain(troubles).collect::<Vec<_>>();
        [for_terminal(name.as_str()), state.join("; ")]
    });
    table(rows.collect()).into_iter().for_each(|line| out.say(line));
    Ok(Exit::All)
}

async fn entries(browser: &mut Browser, inside: &PathInShare, args: &LsArgs, out: &Output) -> Result<Exit> {
    let listed = match (args.directory, args.recursive) {
        (true, _) => Listed::Itself,
        (false, true) => Listed::Tree,
        (false, false) => Listed::Folder,
    };
    browser.check_contents(inside).await?;
    let (pages, to_print) = mpsc::channel(PRINTING_MAX);
    let (printed, exit) = oneshot::channel();
    let printing = Printing { own: inside.shown(), is_long: args.long, out: out.clone() };
    // A thread of its own waits for a reader that pauses, so that the session goes on.
    let prints = move || {
        let _ = printed.send(printing.run(to_print));
    };
    std::thread::Builder::new().name("ringway-print".into()).spawn(prints)?;
    let show = |page: Vec<Browsed>| {
        let pages = pages.clone();
        async move { pages.send(page).await.is_ok() }
    };
    let listed = browser.entries(inside, listed, show).await;
    drop(pages);
    let exit = exit.await?;
    listed?;
    Ok(exit)
}

/// What prints the entries of a listing.
struct Printing {
    own: PathText,
    is_long: bool,
    out: Output,
}

impl Printing {
    /// Prints pages as they come, until nobody reads them or there are no more.
    fn run(&self, mut pages: mpsc::Receiver<Vec<Browsed>>) -> Exit {
        let mut exit = Exit::All;
        while let Some(page) = pages.blocking_recv() {
            // A page is printed at once, and not line by line.
            let mut lines = String::new();
            for entry in page {
                match entry {
                    Ok(entry) => self.entry(&entry, &mut lines),
                    Err(unread) => {
                        exit = Exit::SomeFailed;
                        self.failed(unread, &mut lines);
                    }
                }
            }
            self.out.lines(&lines);
            if self.out.is_closed() {
                break;
            }
        }
        exit
    }

    fn entry(&self, entry: &EntryThere, lines: &mut String) {
        let line = match self.out.is_json() {
            true => json::line(&Event::Entry(entry)),
            false if self.is_long => long(entry, &self.own),
            false => short(entry, &self.own),
        };
        let _ = writeln!(lines, "{line}");
    }

    /// An entry that could not be read, or a folder whose entries could not. What is before it in
    /// the listing is printed first.
    fn failed(&self, Unread { path, source }: Unread, lines: &mut String) {
        let path = self.own.join(&*path).into();
        let fault = Fault::PathThere { path, operation: Operation::Read, source };
        let words = words::error(&fault);
        if self.out.is_json() {
            let _ = writeln!(lines, "{}", json::line(&json::error(&fault, &words)));
        }
        self.out.lines(&std::mem::take(lines));
        self.out.warn(words.what);
    }
}

/// A name; of a folder with a slash behind it.
fn short(entry: &EntryThere, own: &PathText) -> String {
    let name = if entry.path == "" { own } else { &entry.path };
    let slash = if entry.kind == EntryKind::Folder { "/" } else { "" };
    format!("{name}{slash}")
}

/// As `ls -l` shows it, without owners.
fn long(entry: &EntryThere, own: &PathText) -> String {
    let size = match entry.kind {
        EntryKind::File => bytes(entry.size),
        _ => "-".to_owned(),
    };
    let target = entry.target.as_ref().map_or_else(String::new, |target| format!(" -> {target}"));
    format!("{}  {size:>7}  {}  {}{target}", mode(entry), utc(entry.modified_seconds), short(entry, own))
}

/// Kind and permissions, as `ls -l` shows them.
fn mode(entry: &EntryThere) -> String {
    let kind = match entry.kind {
        EntryKind::File => '-',
        EntryKind::Folder => 'd',
        EntryKind::Link => 'l',
        EntryKind::Fifo => 'p',
        EntryKind::Socket => 's',
        EntryKind::CharDevice => 'c',
        EntryKind::BlockDevice => 'b',
    };
    let has = |bit: u16| entry.mode & bit != 0;
    let execute = |bit, special, (both, alone)| match (has(bit), has(special)) {
        (true, true) => both,
        (false, true) => alone,
        (true, false) => 'x',
        (false, false) => '-',
    };
    let mut text = String::from(kind);
    for (shift, special, letters) in [(6, 0o4000, ('s', 'S')), (3, 0o2000, ('s', 'S')), (0, 0o1000, ('t', 'T'))] {
        text.push(if has(4 << shift) { 'r' } else { '-' });
        text.push(if has(2 << shift) { 'w' } else { '-' });
        text.push(execute(1 << shift, special, letters));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entry(kind: EntryKind, mode: u16, path: &str) -> EntryThere {
        let target = (kind == EntryKind::Link).then(|| "../a\nb".into());
        EntryThere { path: path.into(), kind, size: 1_234, mode, modified_seconds: 0, modified_nanos: 5, target }
    }

    #[test]
    fn entries_are_shown_as_ls_shows_them() {
        let own = PathText::from("runs/x");
        let shown = |kind, mode, path| long(&entry(kind, mode, path), &own);
        assert_eq!(shown(EntryKind::File, 0o4755, "a"), "-rwsr-xr-x   1.2 kB  1970-01-01T00:00:00Z  a");
        assert_eq!(shown(EntryKind::Folder, 0o1770, "b"), "drwxrwx--T        -  1970-01-01T00:00:00Z  b/");
        assert_eq!(shown(EntryKind::Link, 0o777, ""), "lrwxrwxrwx        -  1970-01-01T00:00:00Z  runs/x -> ../a\\nb");
        assert_eq!(mode(&entry(EntryKind::Fifo, 0o2600, "f")), "prw---S---");
        assert_eq!(short(&entry(EntryKind::File, 0, "a\u{1b}[2J"), &own), "a\\u{1b}[2J");
    }
}
