//! What a dry run prints: one line, or one event, for each entry that a real run would touch.
use std::io::{self, IsTerminal, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::{Arc, OnceLock};

use parking_lot::{Mutex, MutexGuard};
use ringway_engine::{PlannedFn, Transfer};
use ringway_model::{Fault, Outcome, Planned, Side, TransferId};

use crate::args::{ReportingArgs, SelectionArgs};
use crate::exit::Exit;
use crate::interrupt::Interrupts;
use crate::output::{Output, writing};
use crate::text::for_terminal;
use crate::words::{self, Words, os};
use crate::{json, progress};

/// Bytes that are gathered before they are written, where nobody watches them come: a line is
/// some 50.
const GATHERED_MAX: usize = 64 * 1024;

/// Of a dry run that was stopped.
const STOPPED: &str = "Stopped before everything was listed. In a dry run nothing is transferred.";

/// Starts a dry run, follows it to its end, and says what it comes to.
pub(super) async fn tell(
    start: impl FnOnce(PlannedFn) -> Transfer,
    reporting: ReportingArgs,
    selection: &SelectionArgs,
    interrupts: &Interrupts,
) -> Exit {
    let out = Output::from(reporting).without_bar();
    let lines = Arc::new(PlannedLines::new(out.is_json()));
    let planned: PlannedFn = match reporting.quiet && !out.is_json() {
        true => Arc::new(|_, _: &Path| {}),
        false => PlannedLines::observer(&lines),
    };
    let transfer = start(planned);
    lines.belong_to(transfer.id());
    let report = progress::follow_dry_run(&transfer, &out, interrupts).await;
    lines.flush();
    let peer = transfer.peer().map(|(_, name)| name);
    let words = |fault: &Fault| match fault {
        Fault::Cancelled { by: Side::Here, .. } => Words::only(STOPPED),
        _ => words::error_in(fault, &transfer, peer.as_deref()),
    };
    let came_through = progress::tell_end(&transfer, &report, &out, words, true);
    selection.step_after(&report.failures).into_iter().for_each(|next| out.advise(next));
    if came_through {
        out.say(progress::planned_summary(&transfer, &report));
    }
    match report.outcome {
        Outcome::Failed(Fault::Cancelled { by: Side::Here, .. }) => interrupts.exit(),
        _ => (&*report).into(),
    }
}

/// Takes what the engine's threads tell, and prints it in whole lines.
pub(super) struct PlannedLines {
    json: bool,
    gathered_max: usize,
    gathered: Mutex<Vec<u8>>,
    transfer: OnceLock<TransferId>,
}

impl PlannedLines {
    pub(super) fn new(json: bool) -> Self {
        let gathered_max = if io::stdout().is_terminal() { 0 } else { GATHERED_MAX };
        Self { json, gathered_max, gathered: Mutex::default(), transfer: OnceLock::new() }
    }

    /// What the engine calls.
    pub(super) fn observer(lines: &Arc<Self>) -> PlannedFn {
        let lines = Arc::clone(lines);
        Arc::new(move |what, at| lines.take(what, at))
    }

    /// Says whose entries they are; the engine's threads wait for that, since events name their
    /// transfer.
    pub(super) fn belong_to(&self, transfer: TransferId) {
        // Only `run` calls this, once.
        let _ = self.transfer.set(transfer);
    }

    /// Prints what was gathered.
    pub(super) fn flush(&self) {
        write_out(&mut self.gathered());
    }

    fn take(&self, what: Planned, at: &Path) {
        let mut line = match self.json {
            true => json::line(&json::planned(*self.transfer.wait(), what, at)),
            false => line(what, at),
        };
        line.push('\n');
        let mut gathered = self.gathered();
        gathered.extend_from_slice(line.as_bytes());
        if gathered.len() > self.gathered_max {
            write_out(&mut gathered);
        }
    }

    fn gathered(&self) -> MutexGuard<'_, Vec<u8>> {
        self.gathered.lock()
    }
}

/// Without anybody to read it a dry run is over, and there is nothing to undo. One who has gone
/// away (`| head`) has seen what was wanted.
fn write_out(gathered: &mut Vec<u8>) {
    let write = || {
        let mut output = io::stdout().lock();
        output.write_all(gathered).and_then(|()| output.flush())
    };
    match writing(write) {
        Ok(()) => gathered.clear(),
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => std::process::exit(Exit::NoReader as i32),
        Err(error) => {
            // That standard error may be full, too, changes nothing.
            let _ = writeln!(io::stderr().lock(), "ringway: standard output: {}", os(&error.into()));
            std::process::exit(Exit::Failed as i32);
        }
    }
}

/// `new   dst/a`; a folder has a slash at its end.
fn line(what: Planned, at: &Path) -> String {
    let word = match what {
        Planned::Folder => "dir",
        Planned::File => "new",
        Planned::Overwrite => "over",
        Planned::Link => "link",
        Planned::Special => "node",
        Planned::Keep => "keep",
    };
    let slash = if what == Planned::Folder && !at.as_os_str().as_bytes().ends_with(b"/") { "/" } else { "" };
    format!("{word:<5} {}{slash}", for_terminal(at))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_entry_has_a_word_and_a_harmless_path() {
        assert_eq!(line(Planned::File, Path::new("dst/a")), "new   dst/a");
        assert_eq!(line(Planned::Overwrite, Path::new("dst/b")), "over  dst/b");
        assert_eq!(line(Planned::Keep, Path::new("dst/c")), "keep  dst/c");
        assert_eq!(line(Planned::Folder, Path::new("dst")), "dir   dst/");
        assert_eq!(line(Planned::Folder, Path::new("dst/")), "dir   dst/");
        assert_eq!(line(Planned::Link, Path::new("a\n\x1b[2J")), "link  a\\n\\u{1b}[2J");
    }
}
