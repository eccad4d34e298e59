//! The command line of `ringway serve` and of the commands that ask it.
use std::path::PathBuf;

use clap::Args;
use ringway_model::OnConflict;

use crate::args::{HomeArgs, KeptArgs, ListenAddress, ON_CONFLICT, ReportArgs, RetryArg, one_of};

/// What stands below the options of `serve`.
pub(crate) const SERVE_HELP: &str = "\
Examples:
  ringway serve                    receives into the folder of the settings until it is stopped
  ringway serve /srv/in --listen 10.0.0.5  into another folder, on one address
  systemctl --user enable --now ringway    from login on, where a package has installed it

Offers wait for an answer: in the window, in a notification, or by `ringway accept`. An offer that nobody answers within 10 minutes is declined. `ringway code --new` opens a code for a device that is not known yet.

SIGTERM, Ctrl-C and `ringway stop` end the service: it declines waiting and new offers, and gives running transfers --grace to end. The same send resumes those that did not. A second Ctrl-C ends it at once.

Window and commands reach it at $XDG_RUNTIME_DIR/ringway/control.sock, which is its user's own.";

/// What stands below the options of `accept`.
pub(crate) const ACCEPT_HELP: &str = "\
Examples:
  ringway accept laptop            the offer of that device, if it has one only
  ringway accept 3f2a --into /data  the offer whose id begins so, into another folder";

/// What stands below the options of `allow`.
pub(crate) const ALLOW_HELP: &str = "\
Examples:
  ringway offers                   lists the devices that want to connect
  ringway allow ada-laptop         by the name that the device gives itself, which is not proven
  ringway allow 3f2a-77            by the beginning of its id

Only the code pairs: allowing opens one if none is open. `ringway block` keeps a device from asking again, until the service ends.";

/// What stands below the options of `block`.
pub(crate) const BLOCK_HELP: &str = "\
Examples:
  ringway block ada-laptop         hides its requests, and those of others at its address
  ringway block --undo ada-laptop  takes that back: its request is shown again";

/// `ringway serve`.
#[derive(Debug, Args)]
pub(crate) struct ServeArgs {
    /// The folder to receive into, for every device, even if its rule names another; it must exist.
    /// Default: the receive folder of the settings
    pub(crate) dest: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) home: HomeArgs,
    #[command(flatten)]
    pub(crate) kept: KeptArgs,
    /// Address and port to listen on, as for recv. Default: every address, the port of the settings
    #[arg(long, value_name = "ADDR:PORT", value_parser = ListenAddress::parse)]
    pub(crate) listen: Option<ListenAddress>,
    /// Do not announce this receiver on the local network
    #[arg(long)]
    pub(crate) no_announce: bool,
    /// When the service is told to end, give running transfers this much time to end by themselves:
    /// as in 30s or 5m; no gives them none
    #[arg(long, value_name = "TIME", value_parser = RetryArg::parse, default_value = "10s")]
    pub(crate) grace: RetryArg,
    /// Write the log to FILE instead of to standard output; at 1 MB it is renamed to FILE.old
    #[arg(long, value_name = "FILE")]
    pub(crate) log: Option<PathBuf>,
    /// End by itself when no window is open and nothing runs, unless the settings turn on receiving
    /// in the background. The window starts the service this way
    #[arg(long)]
    pub(crate) with_window: bool,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// `ringway accept`.
#[derive(Debug, Args)]
pub(crate) struct AcceptArgs {
    /// The offer: the name of the device that sent it, or the beginning of the offer's id
    pub(crate) offer: String,
    /// The folder to receive it into; it must exist. Default: the folder that the service receives
    /// into
    #[arg(long, value_name = "DIR")]
    pub(crate) into: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) home: HomeArgs,
    /// What happens to files that exist already and differ; nothing else is ever deleted
    #[arg(long, visible_alias = "existing", value_parser = one_of(ON_CONFLICT), default_value = "update")]
    pub(crate) on_conflict: OnConflict,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// `ringway offers`.
#[derive(Debug, Args)]
pub(crate) struct OffersArgs {
    /// List the files of this offer that differ from those in its folder: the name of the device
    /// that sent it, or the beginning of the offer's id
    pub(crate) offer: Option<String>,
    /// Show what this choice for existing files would do
    #[arg(long, visible_alias = "existing", value_parser = one_of(ON_CONFLICT), requires = "offer", default_value = "update")]
    pub(crate) on_conflict: OnConflict,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// `ringway decline`.
#[derive(Debug, Args)]
pub(crate) struct OfferArgs {
    /// The offer: the name of the device that sent it, or the beginning of the offer's id
    pub(crate) offer: String,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// `ringway block`.
#[derive(Debug, Args)]
pub(crate) struct BlockArgs {
    #[command(flatten)]
    pub(crate) request: RequestArgs,
    /// Take a block back: the device's request is shown again
    #[arg(long)]
    pub(crate) undo: bool,
}

/// `ringway allow`, `ringway dismiss` and the device of `ringway block`.
#[derive(Debug, Args)]
pub(crate) struct RequestArgs {
    /// The device: the name that it gives itself, or the beginning of its id
    pub(crate) device: String,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// `ringway code`.
#[derive(Debug, Args)]
pub(crate) struct CodeShownArgs {
    /// Draw a new one; the old one is no longer valid
    #[arg(long)]
    pub(crate) new: bool,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// `ringway cancel`.
#[derive(Debug, Args)]
pub(crate) struct CancelArgs {
    #[command(flatten)]
    pub(crate) transfer: TransferArgs,
    /// Remove what has arrived; by default the receiver keeps it, and sending the same again
    /// resumes
    #[arg(long)]
    pub(crate) remove: bool,
}

/// `ringway pause` and `ringway resume`.
#[derive(Debug, Args)]
pub(crate) struct TransferArgs {
    /// The transfer: the other device's name, or the beginning of the transfer's id
    pub(crate) transfer: String,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}
