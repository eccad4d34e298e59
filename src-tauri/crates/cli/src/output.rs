//! What the command says: sentences for people or JSON lines for programs, kept apart from the progress bars below them.
use std::fmt::Display;
use std::io::{self, IsTerminal, Write};

use indicatif::{MultiProgress, ProgressBar, ProgressDrawTarget};
use serde_json::Value;

use crate::args::{ReportArgs, ReportingArgs};
use crate::json;
use crate::words::Words;

/// How many times a second bars are drawn.
const DRAWS_PER_S: u8 = 10;

/// Where everything that is said goes through. Clones are the same.
#[derive(Clone)]
pub(crate) struct Output {
    json: bool,
    quiet: bool,
    verbose: bool,
    bars: MultiProgress,
}

impl From<ReportingArgs> for Output {
    fn from(args: ReportingArgs) -> Self {
        let bars = MultiProgress::with_draw_target(if args.report.json || args.quiet {
            ProgressDrawTarget::hidden()
        } else {
            ProgressDrawTarget::stderr_with_hz(DRAWS_PER_S)
        });
        Self { json: args.report.json, quiet: args.quiet, verbose: args.verbose, bars }
    }
}

impl From<ReportArgs> for Output {
    fn from(report: ReportArgs) -> Self {
        Self::from(ReportingArgs { quiet: false, verbose: false, report })
    }
}

impl Output {
    /// Whether a program reads along.
    pub(crate) fn is_json(&self) -> bool {
        self.json
    }

    /// Whether more is wanted.
    pub(crate) fn is_verbose(&self) -> bool {
        self.verbose
    }

    /// An event, for programs only.
    pub(crate) fn event(&self, event: &Value) {
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

    /// Trouble, on standard error, whoever reads.
    pub(crate) fn warn(&self, line: impl Display) {
        self.bars.suspend(|| {
            let _ = writeln!(io::stderr().lock(), "ringway: {line}");
        });
    }

    /// What went wrong and what to do about it, on standard error.
    pub(crate) fn fault(&self, words: &Words) {
        self.warn(&words.what);
        if let Some(next) = &words.next {
            self.bars.suspend(|| {
                let _ = writeln!(io::stderr().lock(), "         {next}");
            });
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

    /// A bar at the bottom, or none where nobody would see it.
    pub(crate) fn bar(&self) -> Option<ProgressBar> {
        (!self.bars.is_hidden()).then(|| self.bars.add(ProgressBar::new(0)))
    }

    /// Does something with the terminal while the bars are out of the way.
    pub(crate) fn aside<R>(&self, work: impl FnOnce() -> R) -> R {
        self.bars.suspend(work)
    }

    /// A reader that has gone away (`| head`) does not stop a transfer.
    fn print(&self, line: impl Display) {
        self.bars.suspend(|| {
            let mut output = io::stdout().lock();
            let _ = writeln!(output, "{line}").and_then(|()| output.flush());
        });
    }
}
