//! The arguments of `ringway share` and `ringway ls`.
use std::ffi::OsString;
use std::path::PathBuf;

use clap::{Args, Subcommand};

use super::ReportArgs;
use super::rule::SizeArg;

pub(super) const SHARE_HELP: &str = "\
Examples:
  ringway share add /srv/runs --with laptop   the device laptop may list and read /srv/runs
  ringway share add ~/papers --name papers    shared with no device yet
  ringway share add ~/papers --name papers --with laptop nas
  ringway share add /srv/inbox --with laptop --drop --max-size 20G
                                              laptop may also send into it, without asking
  ringway share remove papers

By default nothing is shared, and no device may read a new share. A share is read only, unless --drop makes it a drop box: the devices that may read it may then also send into it (`ringway send FOLDER lab-ws:inbox/sub`), without asking. Each of them can read what the others have sent. Existing entries are not replaced or removed, except what the same device sent before and nobody has changed since. An entry whose name is taken arrives under a numbered name, and is updated there when the device sends it again. Missing folders on the way are created. A device whose rule is --refuse sends nothing. What is shared is the folder that was there when it was added: another folder at its path is not shared, and if its disk is not mounted, or its filesystem does not answer, the share is listed as unavailable. Symbolic links in it are shown as links and never followed.

Other devices list a share while `ringway serve` or `ringway recv` runs here, and get from it while `ringway serve` does. Both take in what is sent into a drop box. Removing a share, --no-drop, refusing a device's offers, or forgetting it, ends what runs with it within a second.";

pub(super) const LS_HELP: &str = "\
Examples:
  ringway ls lab-ws                  the folders that lab-ws shares with this device
  ringway ls lab-ws:runs             what is in one of them
  ringway ls -l lab-ws:runs/2026-11-22
  ringway ls -R --json lab-ws:runs | jq -r .path

DEVICE is a paired device's name, the beginning of its id, or HOST[:PORT]. There, `ringway share add` shares a folder. Entries come sorted by name, as they arrive; with -R a folder stands before what is in it. Times are in UTC.";

/// `ringway share`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct ShareArgs {
    /// What to do; without it, list them
    #[command(subcommand)]
    pub(crate) action: Option<ShareAction>,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// What to do with shared folders.
#[derive(Debug, Subcommand)]
pub(crate) enum ShareAction {
    /// Share a folder with paired devices, which may list and read it. If it is shared under that
    /// name already, the devices that are named now replace those before
    Add {
        /// The folder
        folder: PathBuf,
        /// The name under which devices see it. Default: the folder's own name
        #[arg(long)]
        name: Option<String>,
        /// The devices that may read it, by name or by the beginning of their ids. Without this
        /// option a new share is for no device, and one that exists keeps its devices
        #[arg(long, value_name = "DEVICE", num_args = 1.., conflicts_with = "with_all")]
        with: Vec<String>,
        /// Every paired device may read it, also those that are paired later
        #[arg(long)]
        with_all: bool,
        /// No device may read it from now on
        #[arg(long, conflicts_with_all = ["with", "with_all"])]
        nobody: bool,
        /// Make it a drop box: the devices that may read it may also send into it, without asking.
        /// This user must be able to write into it
        #[arg(long)]
        drop: bool,
        /// Make it read only again. Without --drop and this option, a share that exists stays what
        /// it is
        #[arg(long, conflicts_with = "drop")]
        no_drop: bool,
        /// Ask anyway if what is sent into the drop box is larger than SIZE, as with `ringway
        /// devices rule`: K, M, G, T are powers of 1000, Ki, Mi, Gi, Ti of 1024; none removes the
        /// limit. Default: none
        #[arg(long, value_name = "SIZE", value_parser = SizeArg::parse, conflicts_with = "no_drop")]
        max_size: Option<SizeArg>,
        /// Share a home folder, or a folder that contains one, although that shows private files.
        /// It cannot be a drop box
        #[arg(long)]
        allow_home: bool,
    },
    /// List the shared folders, with whom they are shared, and which are unavailable (the default)
    List,
    /// Stop sharing a folder; its files stay
    Remove {
        /// The name of the share
        name: String,
    },
}

/// `ringway ls`.
#[derive(Debug, Args)]
pub(crate) struct LsArgs {
    /// DEVICE for the folders that it shares with this one; DEVICE:SHARE or DEVICE:SHARE/PATH for
    /// what is in one. PATH/ with a slash must be a folder
    #[arg(value_name = "DEVICE[:SHARE[/PATH]]")]
    pub(crate) what: OsString,
    /// Show permissions, size and modification time of each entry, and where links lead
    #[arg(short, long)]
    pub(crate) long: bool,
    /// List what is in folders as well
    #[arg(short = 'R', long)]
    pub(crate) recursive: bool,
    /// List a folder itself, not what is in it
    #[arg(short, long, conflicts_with = "recursive")]
    pub(crate) directory: bool,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}
