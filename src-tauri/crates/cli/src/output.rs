//! What the command says: sentences for people or JSON lines for programs, kept apart from the
//! progress bars below them.
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget};
use rustix::io::Errno;

use crate::args::{ReportArgs, ReportingArgs};
use crate::json::{self, Event};
use crate::words::{Words, os};

/// How many times a second bars are drawn.
const DRAWS_PER_S: u8 = 10;

/// Where everything that is said goes through. Clones are the same.
#[derive(Clone)]
pub(crate) struct Output {
    json: bool,
    quiet: bool,
    verbose: bool,
    /// Whether a bar is drawn where there is a terminal.
    drawn: bool,
    /// Whether figures are wanted without one.
    steady: bool,
    bars: MultiProgress,
    /// Whether the cursor stands behind a question: bars keep away, and what is said begins on a
    /// new line.
    asking: Arc<AtomicBool>,
}

impl From<ReportingArgs> for Output {
    fn from(args: ReportingArgs) -> Self {
        let (json, quiet) = (args.report.json, args.quiet);
        let bars = MultiProgress::with_draw_target(draw_target(!json && !quiet));
        Self { json, quiet, verbose: args.verbose, drawn: !json && !quiet, steady: false, bars, asking: Arc::default() }
    }
}

impl From<ReportArgs> for Output {
    fn from(report: ReportArgs) -> Self {
        Self::from(ReportingArgs { quiet: false, verbose: false, report })
    }
}

fn draw_target(visible: bool) -> ProgressDrawTarget {
    if visible { ProgressDrawTarget::stderr_with_hz(DRAWS_PER_S) } else { ProgressDrawTarget::hidden() }
}

/// Standard output did not take everything.
static INCOMPLETE: AtomicBool = AtomicBool::new(false);

/// Nobody reads standard output any more.
static CLOSED: AtomicBool = AtomicBool::new(false);

/// Writes of what is said that have begun, and those that have ended.
static BEGUN: AtomicU64 = AtomicU64::new(0);
static ENDED: AtomicU64 = AtomicU64::new(0);

/// Does a write to standard output or standard error: it waits until the reader takes it.
pub(crate) fn writing<T>(write: impl FnOnce() -> T) -> T {
    BEGUN.fetch_add(1, Ordering::Relaxed);
    let written = write();
    ENDED.fetch_add(1, Ordering::Relaxed);
    written
}

/// How many writes have ended, as long as one is under way.
pub(crate) fn under_way() -> Option<u64> {
    let ended = ENDED.load(Ordering::Relaxed);
    (BEGUN.load(Ordering::Relaxed) > ended).then_some(ended)
}

/// Whether nobody reads standard output any more.
pub(crate) fn is_closed() -> bool {
    CLOSED.load(Ordering::Relaxed)
}

/// Whether something that was to be read could not be printed.
pub(crate) fn is_incomplete() -> bool {
    INCOMPLETE.load(Ordering::Relaxed)
}

/// Prints a line. Nothing stops a transfer here: a reader that has gone away (`| head`) has seen
/// what it wanted.
///
/// # Errors
/// The first time that standard output does not take a line for another reason.
fn print_line(line: impl Display) -> io::Result<()> {
    let print = || {
        let mut output = io::stdout().lock();
        // The standard library has put /dev/null in the place of one that was closed.
        match ringway_engine::is_output_closed() {
            true => Err(Errno::BADF.into()),
            false => writeln!(output, "{line}").and_then(|()| output.flush()),
        }
    };
    match writing(print) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
            CLOSED.store(true, Ordering::Relaxed);
            Ok(())
        }
        Err(error) if !INCOMPLETE.swap(true, Ordering::Relaxed) => Err(error),
        _ => Ok(()),
    }
}

impl Output {
    /// The same with figures every second where there is no terminal for a bar.
    pub(crate) fn steady(mut self) -> Self {
        self.steady = !self.json && !self.quiet && !io::stderr().is_terminal();
        self
    }

    /// The same without a bar, for when what is printed shows how far it is.
    pub(crate) fn without_bar(mut self) -> Self {
        (self.drawn, self.steady) = (false, false);
        self
    }

    /// Whether figures are wanted although there is no terminal.
    pub(crate) fn is_steady(&self) -> bool {
        self.steady
    }

    /// Whether anyone sees figures while a transfer runs.
    pub(crate) fn is_watched(&self) -> bool {
        self.json || self.steady || (self.drawn && io::stderr().is_terminal())
    }

    /// Whether a program reads along.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Whether a person reads what [`Output::say`] says.
    pub(crate) fn says(&self) -> bool {
        !self.json && !self.quiet
    }

    /// Whether more is wanted.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// An event, for programs only.
    pub(crate) fn event(&self, event: &Event<'_>) {
        if self.json {
            self.print(json::line(event));
        }
    }

    /// A line for people who have not asked for quiet.
    pub(crate) fn say(&self, line: impl Display) {
        if !self.json && !self.quiet {
            self.print(line);
        }
    }

    /// Lines of a result, each with its end, for people and programs alike. Only for commands
    /// without bars and questions: it waits for who reads them, and keeps nothing else from being
    /// said meanwhile.
    pub(crate) fn lines(&self, lines: &str) {
        let Some(lines) = lines.strip_suffix('\n') else { return };
        if let Err(error) = print_line(lines) {
            self.warn(format_args!("standard output: {}", os(&error.into())));
        }
    }

    /// Whether nobody reads standard output any more, as far as that was seen.
    pub(crate) fn is_closed(&self) -> bool {
        is_closed()
    }

    /// A line for people who may not miss it.
    pub(crate) fn must_say(&self, line: impl Display) {
        if !self.json {
            self.print(line);
        }
    }

    /// A line for people who want to know more.
    pub(crate) fn detail(&self, line: impl Display) {
        if self.verbose && !self.json {
            self.print(line);
        }
    }

    /// Trouble, on standard error, in every mode of output.
    pub(crate) fn warn(&self, line: impl Display) {
        self.to_stderr(format_args!("ringway: {line}\n"));
    }

    /// What went wrong and what to do about it, on standard error.
    pub(crate) fn fault(&self, words: &Words) {
        self.warn(&words.what);
        words.next.iter().for_each(|next| self.advise(next));
    }

    /// What to do about the trouble above, on standard error.
    pub(crate) fn advise(&self, next: impl Display) {
        self.to_stderr(format_args!("         {next}\n"));
    }

    /// Figures of a running transfer where there is no bar: beside the errors if they were asked
    /// for, else where everything is said.
    pub(crate) fn figures(&self, line: impl Display) {
        if self.steady { self.to_stderr(format_args!("{line}\n")) } else { self.say(line) }
    }

    /// A question to the person at the terminal; the bars stay away until it is answered or
    /// something else is said.
    pub(crate) fn ask(&self, question: &str) {
        self.to_stderr(question);
        self.bars.set_draw_target(draw_target(false));
        self.asking.store(true, Ordering::Relaxed);
    }

    /// Whether a question is the last thing that was said.
    pub(crate) fn is_asking(&self) -> bool {
        self.asking.load(Ordering::Relaxed)
    }

    /// The person has pressed ENTER behind it.
    pub(crate) fn answered(&self) {
        if self.asking.swap(false, Ordering::Relaxed) {
            self.bars.set_draw_target(draw_target(self.drawn));
        }
    }

    /// Text that is important enough to be bold where that is possible.
    pub(crate) fn bold(&self, text: &str) -> String {
        let wanted = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
        if wanted && !self.json && io::stdout().is_terminal() {
            format!("\x1b[1m{text}\x1b[0m")
        } else {
            text.to_owned()
        }
    }

    /// A bar at the bottom, or `None` if nobody would see it.
    pub(crate) fn bar(&self) -> Option<ProgressBar> {
        let seen = self.drawn && io::stderr().is_terminal();
        seen.then(|| self.bars.add(ProgressBar::new(0)))
    }

    fn print(&self, line: impl Display) {
        self.break_question();
        let printed = self.bars.suspend(|| print_line(line));
        if let Err(error) = printed {
            self.warn(format_args!("standard output: {}", os(&error.into())));
        }
    }

    fn to_stderr(&self, text: impl Display) {
        self.break_question();
        self.bars.suspend(|| {
            writing(|| {
                let mut output = io::stderr().lock();
                let _ = write!(output, "{text}").and_then(|()| output.flush());
            });
        });
    }

    fn break_question(&self) {
        if self.is_asking() {
            self.answered();
            let _ = writeln!(io::stderr().lock());
        }
    }
}
