//! The options of `ringway get`.
use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use ringway_engine::Reference;

use super::past_number;
use super::{CodeArgs, LandingArgs, MovingArgs, PathArgs, ReportingArgs, SelectionArgs};

pub(super) const GET_USAGE: &str =
    "ringway get [OPTIONS] <DEVICE:SHARE[/PATH]>... [DEST]\n       ringway get [OPTIONS] --again [NUMBER]";

pub(super) const GET_HELP: &str = "\
Examples:
  ringway get lab-ws:runs/2026-11-22        arrives as ./2026-11-22
  ringway get lab-ws:runs/2026-11-22/ now   its contents arrive in now
  ringway get lab-ws:runs/a lab-ws:runs/b . several things of one share
  ringway get lab-ws:runs /data --verify    the whole share, as /data/runs, read back and compared
  ringway get lab-ws:src --exclude target/ --dry-run  what would be got without some folders
  ringway get 10.0.0.7:runs/x               from an address
  ringway get --again                       the last one once more, into the same folder

The other device shares folders with this one (`ringway share add` there) and runs `ringway serve`. This device opens all connections, so it may be behind a router or a firewall. Nobody has to be at the other device.

The other device applies --exclude and the others: what they leave out is neither read nor sent, and would not be taken here. It takes at most 1,000 patterns with 16 KiB, and a list of 65,536 paths with 4 MiB.

What is there already, by size and time, is not sent again. So the same command again, or --again, continues what was interrupted.

Success is reported only after everything was written, renamed and synchronised to this device's disk.

The events of --json are listed in the manual: `ringway man`.";

/// Why --again of `get` takes no other word.
const GET_AGAIN: &str = "--again takes the number of an earlier get, as `ringway inbox` lists them, or nothing for the last one. To name a device, name what is got as well: ringway get DEVICE:SHARE/PATH";

/// `ringway get`.
#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    /// What to get, of one share of one device: DEVICE is a paired device's name or id, or
    /// HOST[:PORT]. PATH/ with a slash gets a folder's contents, as with rsync. The last word, if
    /// it names no share, is DEST: the folder to receive into, which must exist. Default: the
    /// current folder
    #[arg(required_unless_present = "again", num_args = 1.., value_name = "DEVICE:SHARE[/PATH]")]
    pub(crate) words: Vec<OsString>,
    /// Repeat an earlier get, from the same device into the same folder, with the same options for
    /// how it lands and what is left out: NUMBER as `ringway inbox` lists it, or the last one that
    /// was not refused as wrong usage. --exclude, --include and --exclude-from add to the patterns,
    /// and decide before them. What was got by a list (--files-from) needs a list again
    #[arg(
        long,
        value_name = "NUMBER",
        num_args = 0..=1,
        value_parser = past_number(GET_AGAIN),
        conflicts_with_all = ["words", "on_conflict", "owner", "numeric_ids", "setuid", "acls", "modes", "allow_home", "dot_names"],
    )]
    pub(crate) again: Option<Option<u64>>,
    #[command(flatten)]
    pub(crate) code: CodeArgs,
    /// Get nothing: print what would be sent from there, one line for each entry (dir, new, link).
    /// The other device is asked; nothing is written here, and its history does not have it. Files
    /// that are here already are not taken into account
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    #[command(flatten)]
    pub(crate) landing: LandingArgs,
    #[command(flatten)]
    pub(crate) moving: MovingArgs,
    #[command(flatten)]
    pub(crate) paths: PathArgs,
    #[command(flatten)]
    pub(crate) reporting: ReportingArgs,
}

impl GetArgs {
    /// What to get, and the folder to receive into, if one is named.
    pub(crate) fn wanted_and_destination(&self) -> (&[OsString], Option<PathBuf>) {
        match self.words.split_last() {
            Some((last, before)) if !before.is_empty() && !is_of_a_share(last) => (before, Some(last.into())),
            _ => (&self.words, None),
        }
    }
}

/// Whether a word names a share. A path with a colon in it is told from that by a slash before it,
/// as in `./a:b`.
fn is_of_a_share(word: &OsString) -> bool {
    Reference::parse(word).is_ok_and(|named| named.inside.is_some() && !named.device.contains('/'))
}
