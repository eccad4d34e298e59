//! The arguments of `ringway notes`.
use clap::{Args, Subcommand};

use super::ReportArgs;

pub(super) const NOTES_HELP: &str = "\
Examples:
  ringway notes                    lists the notes that other devices have sent
  ringway notes show 7             shows note 7
  ringway notes show 7 | wl-copy   writes its exact text to a program
  ringway notes forget 7

`ringway send --text lab-ws` sends one. Notes arrive while `ringway serve` or `ringway recv` runs. 200 are kept, at most 50 of each device; the oldest ones that were read make room. Nothing in a note is run or opened.";

/// `ringway notes`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct NotesArgs {
    /// What to do; without it, list them, the latest first
    #[command(subcommand)]
    pub(crate) action: Option<NotesAction>,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// What to do with notes.
#[derive(Debug, Subcommand)]
pub(crate) enum NotesAction {
    /// Show a note. To a pipe or file its exact text is written, and nothing else
    Show {
        /// Its number in the list
        number: u64,
    },
    /// Delete a note
    Forget {
        /// Its number in the list
        number: u64,
    },
    /// Delete all notes
    Clear {
        /// Only those that were read
        #[arg(long)]
        read: bool,
    },
}
