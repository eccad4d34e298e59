//! The command line: every option with its help, and what a path to send means.
pub(crate) mod bench;
pub(crate) mod copy;
pub(crate) mod destination;
mod get;
mod limit;
mod listen_address;
mod moving;
mod notes;
mod retry;
mod rule;
mod selection;
mod service;
mod share;

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use clap::builder::{PossibleValue, PossibleValuesParser, StyledStr, TypedValueParser};
use clap::error::{ContextKind, ContextValue};
use clap::{Args, Parser, Subcommand, ValueEnum};
use ringway_model::{Compression, Delta, IntoHome, IoMode, OnConflict, Source, TlsMode};

use crate::exit::{COPY_EXIT_LINES, COPY_SIGNALS_HELP, EXIT_HELP};

use bench::BenchArgs;
pub(crate) use copy::CopyArgs;
use copy::{COPY_HELP, COPY_USAGE};
pub(crate) use get::GetArgs;
use get::{GET_HELP, GET_USAGE};
pub(crate) use limit::LimitArg;
pub(crate) use listen_address::ListenAddress;
pub(crate) use moving::{KeptArgs, LandingArgs, MovingArgs, check_landing};
use notes::NOTES_HELP;
pub(crate) use notes::{NotesAction, NotesArgs};
pub(crate) use retry::RetryArg;
pub(crate) use rule::{RuleArgs, SizeArg};
use selection::SELECTION_HELP;
pub(crate) use selection::{SelectionArgs, SelectionSources, check_patterns};
use service::{ACCEPT_HELP, ALLOW_HELP, BLOCK_HELP, SERVE_HELP};
pub(crate) use service::{
    AcceptArgs, BlockArgs, CancelArgs, CodeShownArgs, OfferArgs, OffersArgs, RequestArgs, ServeArgs, TransferArgs,
};
use share::{LS_HELP, SHARE_HELP};
pub(crate) use share::{LsArgs, ShareAction, ShareArgs};

const ABOUT: &str = "Moves folders between Linux devices, encrypted, and copies them inside one, with nothing lost";

const LONG_ABOUT: &str = "\
Moves folders between Linux devices, encrypted, and copies them inside one, with nothing lost.

`ringway recv` on the machine that receives, `ringway send FOLDER HOST` on the machine that sends. The receiver shows a code; the sender asks for it the first time. Afterwards the two know each other.

`ringway copy FOLDER DEST` does on this machine what `cp -a` does, sooner.";

const FILES_HELP: &str = "\
Environment:
  RINGWAY_CODE  the code or standing secret, where --code-file is not given
  XDG_CONFIG_HOME, XDG_DATA_HOME, XDG_STATE_HOME, XDG_RUNTIME_DIR  folders of settings, data, state and the control socket
  NO_COLOR      no bold text

Files:
  ~/.config/ringway/config.toml  settings
  ~/.local/share/ringway         identity.pem (private key), ringway.db (devices, past transfers)
  ~/.local/state/ringway         copy-folder, sources-folder (where the window copied to and picked from last), left-out (what it left out of which folder)

Sizes are in decimal units: 1 MB is 1,000,000 bytes.";

/// The whole command line.
#[derive(Debug, Parser)]
#[command(name = "ringway", version, about = ABOUT, long_about = LONG_ABOUT, after_long_help = with_statuses(FILES_HELP))]
pub(crate) struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub(crate) command: Command,
}

fn with_statuses(help: &str) -> String {
    format!("{help}\n\n{EXIT_HELP}")
}

/// No statuses about declining or recognising: a copy has no other end.
fn with_copy_statuses() -> String {
    let statuses: Vec<&str> = EXIT_HELP.lines().take(COPY_EXIT_LINES).collect();
    format!("{COPY_HELP}\n\n{SELECTION_HELP}\n\n{}\n{COPY_SIGNALS_HELP}", statuses.join("\n"))
}

/// What to do.
#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Receive folders and files from other devices
    #[command(after_long_help = with_statuses(RECV_HELP))]
    Recv(RecvArgs),
    /// Send folders and files to another device
    #[command(override_usage = SEND_USAGE, after_long_help = with_statuses(&format!("{SEND_HELP}\n\n{SELECTION_HELP}")))]
    Send(Box<SendArgs>),
    /// Get folders and files that another device shares with this one
    #[command(override_usage = GET_USAGE, after_long_help = with_statuses(&format!("{GET_HELP}\n\n{SELECTION_HELP}")))]
    Get(Box<GetArgs>),
    /// Copy folders and files on this device, as `cp -a` does
    #[command(override_usage = COPY_USAGE, after_long_help = with_copy_statuses(), args_override_self = true)]
    Copy(Box<CopyArgs>),
    /// Receive in the background: the service that the window, the tray and the commands below talk
    /// to
    #[command(after_long_help = with_statuses(SERVE_HELP))]
    Serve(ServeArgs),
    /// Show what the service does: its receive folder and code, offers that wait for an answer,
    /// running transfers
    Status(ReportArgs),
    /// List the offers that wait for an answer, or what differs in the folder of one of them
    Offers(OffersArgs),
    /// Accept an offer
    #[command(after_long_help = with_statuses(ACCEPT_HELP))]
    Accept(AcceptArgs),
    /// Decline an offer
    Decline(OfferArgs),
    /// Let a device that wants to connect pair: prints the code, which has to be typed there
    #[command(after_long_help = with_statuses(ALLOW_HELP))]
    Allow(RequestArgs),
    /// Hide the request of a device that wants to connect, for ten minutes
    Dismiss(RequestArgs),
    /// Hide the requests of a device that wants to connect, and of others at its address, until the
    /// service ends; `--undo` takes that back
    #[command(after_long_help = with_statuses(BLOCK_HELP))]
    Block(BlockArgs),
    /// Show the service's code, or draw a new one
    Code(CodeShownArgs),
    /// Cancel a transfer of the service
    Cancel(CancelArgs),
    /// Pause a transfer of the service, sent or received, until it is resumed here, for 8 hours at
    /// most. A copy that the window started can be paused too, for any length of time
    Pause(TransferArgs),
    /// Resume a paused transfer; one that waits to try again tries at once
    Resume(TransferArgs),
    /// End the service
    Stop(ReportArgs),
    /// Pair this device with a receiver, without sending anything
    #[command(after_long_help = with_statuses(PAIR_HELP))]
    Pair(PairArgs),
    /// List, rename or forget the devices that this one knows, and set a rule for their offers
    Devices(DevicesArgs),
    /// Share folders with paired devices, list the shared folders, or stop sharing one
    #[command(after_long_help = with_statuses(SHARE_HELP))]
    Share(ShareArgs),
    /// List what another device shares with this one, and what is in it
    #[command(after_long_help = with_statuses(LS_HELP))]
    Ls(LsArgs),
    /// Show past transfers and copies, and how they ended
    Inbox(InboxArgs),
    /// List the notes that other devices have sent, show one, or delete some
    #[command(after_long_help = with_statuses(NOTES_HELP))]
    Notes(NotesArgs),
    /// Show this device's settings, or change them
    #[command(after_long_help = with_statuses(SETTINGS_HELP))]
    Settings(SettingsArgs),
    /// Say in plain words what this device can do, what makes it slower, and what keeps others
    /// from reaching it
    Doctor(ReportArgs),
    /// Measure the speed of Ringway's parts on this device (left out of packages)
    Bench(BenchArgs),
    /// Print a completion script for a shell
    #[command(after_long_help = COMPLETIONS_HELP)]
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write those of all commands into a folder
    Man {
        /// The folder to write ringway.1, ringway-recv.1, … into
        dir: Option<PathBuf>,
    },
}

impl Command {
    /// Whether the command's output is the result that was asked for, and not only a report about a
    /// transfer.
    pub(crate) fn prints_its_result(&self) -> bool {
        let moves = match self {
            Self::Recv(_) | Self::Serve(_) | Self::Pair(_) | Self::Accept(_) => true,
            Self::Send(args) => !args.dry_run,
            Self::Get(args) => !args.dry_run,
            Self::Copy(args) => !args.dry_run,
            _ => false,
        };
        !moves || self.report().json
    }

    /// Whether a person or a program reads the output.
    pub(crate) fn report(&self) -> ReportArgs {
        match self {
            Self::Recv(args) => args.reporting.report,
            Self::Send(args) => args.reporting.report,
            Self::Get(args) => args.reporting.report,
            Self::Copy(args) => ReportingArgs::from(args.said).report,
            Self::Pair(args) => args.reporting.report,
            Self::Devices(args) => args.report,
            Self::Share(args) => args.report,
            Self::Ls(args) => args.report,
            Self::Inbox(args) => args.report,
            Self::Notes(args) => args.report,
            Self::Settings(args) => args.report,
            Self::Doctor(report) | Self::Status(report) | Self::Stop(report) => *report,
            Self::Offers(args) => args.report,
            Self::Serve(args) => args.report,
            Self::Accept(args) => args.report,
            Self::Decline(args) => args.report,
            Self::Allow(args) | Self::Dismiss(args) => args.report,
            Self::Block(args) => args.request.report,
            Self::Code(args) => args.report,
            Self::Cancel(args) => args.transfer.report,
            Self::Pause(args) | Self::Resume(args) => args.report,
            Self::Bench(args) => args.report(),
            Self::Completions { .. } | Self::Man { .. } => ReportArgs { json: false },
        }
    }
}

/// The same error with a tip about `-q`: it means quiet in most programs, but sets the queue's
/// depth in `ringway copy`.
pub(crate) fn hinted(mut error: clap::Error) -> clap::Error {
    let about = error.get(ContextKind::InvalidArg).map(ToString::to_string).unwrap_or_default();
    if about.contains("--queue-depth") {
        let tip = StyledStr::from("-q is the depth of the queue; --quiet is the word for being quiet");
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip]));
    }
    error
}

const RECV_HELP: &str = "\
Examples:
  ringway recv                     into the current folder, which may not be a home; asks before accepting, unless a device's rule says otherwise
  ringway recv ~/inbox --yes       accepts from paired devices, and from a device that has the code
  ringway recv --once --listen :0  one transfer, on a free port
  ringway recv /srv/in --yes --json --code-file ~/secret  for scripts, by a standing secret

Each device may have a rule (`ringway devices rule`): its offers are asked about, accepted or declined without asking. Without --yes the rule decides first. A transfer that it accepts is stopped at the rule's size. Without a terminal to ask at, and with --json, offers that are to be asked about are declined.

A code is valid for 10 minutes and for one device; after three wrong attempts it is no longer valid, and a new one is shown. At the terminal, ENTER draws a new one at any time. A standing secret (16 bytes or more) does not expire.

The events of --json are listed in the manual: `ringway man`.";

const SEND_USAGE: &str = "\
ringway send [OPTIONS] <PATH>... <TARGET>
       ringway send [OPTIONS] <PATH>
       ringway send [OPTIONS] --nearby <PATH>...
       ringway send [OPTIONS] --text [TARGET]";

const SEND_HELP: &str = "\
Examples:
  ringway send dataset lab-ws      arrives as DEST/dataset on the device lab-ws
  ringway send dataset/ lab-ws     its contents arrive in DEST itself
  ringway send dataset lab-ws:inbox/today  into a folder of the drop box inbox there
  ringway send a b c.txt 10.0.0.7  several things, to an address
  ringway send dataset 3f2b-1c9d   to the device whose id begins so
  ringway send dataset host:4000 --code-file - < code  by a code from a file
  ringway send dataset lab-ws --limit 20M  at 20 MB a second and no more
  ringway send --verify photos lab-ws      reads everything back there and compares
  ringway send dataset             to the receiver nearby whose code is then asked for
  ringway send --again             the last one once more, to the same device
  echo hello | ringway send --text lab-ws  a note, for the inbox there

TARGET with a colon or a dot is an address; 8 or more hex digits are the beginning of a paired device's id; anything else is a paired device's name, or else a host's.

The first time, the receiver's code is asked for at the terminal. It is echoed, because it is worthless once it has been used. Press ENTER alone to type a standing secret unseen. Scripts give it by --code-file or RINGWAY_CODE; it is never an argument, which everyone on the machine could read.

Success is reported only after the receiver's receipt: everything written, renamed and synchronised to its disk.

The events of --json are listed in the manual: `ringway man`.";

const SETTINGS_HELP: &str = "\
Examples:
  ringway settings --name laptop --receive-folder ~/Incoming
  ringway settings --receiving off     declines new offers, also after the service was started again

A running service applies a change at once, and running transfers continue. If a port is in use or a folder cannot be used, the command says so and changes nothing. If the port changes or receiving is turned off, waiting offers are declined. What is edited in config.toml takes effect with the next change or start of the service.";

const PAIR_HELP: &str = "\
Example:
  ringway pair 10.0.0.7                asks for the code that `ringway recv` shows there";

const COMPLETIONS_HELP: &str = "\
Examples:
  ringway completions bash > ~/.local/share/bash-completion/completions/ringway
  ringway completions zsh  > ~/.zfunc/_ringway
  ringway completions fish > ~/.config/fish/completions/ringway.fish";

/// `ringway recv`.
#[derive(Debug, Args)]
pub(crate) struct RecvArgs {
    /// The folder to receive into, which must exist. Default: the folder in the sending device's
    /// rule if there is one, else the current folder
    pub(crate) dest: Option<PathBuf>,
    /// Address and port to listen on: ADDR:PORT, [V6ADDR]:PORT, ADDR, :PORT or PORT; port 0 takes a
    /// free one. Default: every address, the port of the settings (17464 unless changed)
    #[arg(long, value_name = "ADDR:PORT", value_parser = ListenAddress::parse)]
    pub(crate) listen: Option<ListenAddress>,
    /// End after one transfer; the exit status is that transfer's
    #[arg(long)]
    pub(crate) once: bool,
    /// Accept every offer of devices that know the code or are paired, without asking. Devices
    /// whose rule is to refuse are still refused
    #[arg(short, long)]
    pub(crate) yes: bool,
    /// Do not announce this receiver on the local network. Others find it there by its code's
    /// number and with `ringway devices --nearby`
    #[arg(long)]
    pub(crate) no_announce: bool,
    /// Let no new device pair: only paired ones may send
    #[arg(long, conflicts_with = "code_file")]
    pub(crate) no_pairing: bool,
    #[command(flatten)]
    pub(crate) code: CodeArgs,
    #[command(flatten)]
    pub(crate) landing: LandingArgs,
    #[command(flatten)]
    pub(crate) paths: PathArgs,
    #[command(flatten)]
    pub(crate) reporting: ReportingArgs,
}

/// Whether a home folder may be received into.
#[derive(Debug, Clone, Copy, Default, Args)]
pub(crate) struct HomeArgs {
    /// Receive into a home folder although that is risky. Names at its top that begin with a dot
    /// are still refused, because such files change how programs start
    #[arg(long)]
    pub(crate) allow_home: bool,
    /// Accept names at the top of a home folder that begin with a dot as well
    #[arg(long, requires = "allow_home")]
    pub(crate) dot_names: bool,
}

impl HomeArgs {
    /// What may be received into a home folder.
    pub(crate) fn into_home(self) -> IntoHome {
        match (self.allow_home, self.dot_names) {
            (false, _) => IntoHome::Refuse,
            (true, false) => IntoHome::NoDotNames,
            (true, true) => IntoHome::DotNames,
        }
    }
}

/// `ringway send`.
#[derive(Debug, Args)]
pub(crate) struct SendArgs {
    /// Folders and files to send, and last the target: a paired device's name or id, or
    /// HOST[:PORT]. FOLDER/ with a slash sends its contents, as with rsync. TARGET:SHARE/PATH sends
    /// into a folder of that device, if SHARE is a drop box there for this device; PATH is made if
    /// it is missing. A single PATH, or every PATH with --nearby, goes to the receiver on the local
    /// network that shows the code
    #[arg(required_unless_present_any = ["again", "text"], num_args = 1.., value_name = "PATH")]
    pub(crate) words: Vec<OsString>,
    /// Repeat an earlier send, to the same device: NUMBER as `ringway inbox --sent` lists it, or
    /// the last one that was not refused as wrong usage. Files that are there already are not sent
    /// twice. What its patterns left out is left out again: --exclude, --include and --exclude-from
    /// add to them, and decide before them. What was sent by a list (--files-from) needs a list
    /// again
    #[arg(
        long,
        value_name = "NUMBER",
        num_args = 0..=1,
        value_parser = past_number(SEND_AGAIN),
        conflicts_with_all = ["words", "nearby"],
    )]
    pub(crate) again: Option<Option<u64>>,
    /// Send to the receiver on the local network that shows the code: all words are paths, none is
    /// the target
    #[arg(long)]
    pub(crate) nearby: bool,
    /// Send the text on standard input as a note for the inbox of the target, which is the only
    /// word then: 1 to 65,536 bytes of UTF-8. Nobody there is asked, and nothing in it is run or
    /// opened. Success is reported once it is kept there
    #[arg(long, conflicts_with_all = ["again", "nearby", "dry_run", "exclude", "include", "exclude-from", "files-from", "verify", "lanes", "limit", "compress", "delta"])]
    pub(crate) text: bool,
    /// Send nothing and connect to nobody: print what would be sent, one line for each entry (dir,
    /// new, link). What the receiver has already is not looked at
    #[arg(long)]
    pub(crate) dry_run: bool,
    #[command(flatten)]
    pub(crate) selection: SelectionArgs,
    #[command(flatten)]
    pub(crate) code: CodeArgs,
    #[command(flatten)]
    pub(crate) moving: MovingArgs,
    #[command(flatten)]
    pub(crate) paths: PathArgs,
    #[command(flatten)]
    pub(crate) reporting: ReportingArgs,
}

/// Why --again of `send` takes no other word.
const SEND_AGAIN: &str = "--again takes the number of an earlier send, as `ringway inbox --sent` lists them, or nothing for the last one. To name a device, name what is sent as well: ringway send FOLDER DEVICE";

/// Reads the number of a past transfer; `why` says what else there is to write.
fn past_number(why: &'static str) -> impl Fn(&str) -> Result<u64, &'static str> + Clone {
    move |typed| typed.parse().map_err(|_| why)
}

impl SendArgs {
    /// The paths to send, and the target. Without a target, the code finds the receiver.
    pub(crate) fn sources_and_target(&self) -> (Vec<PathBuf>, Option<&OsStr>) {
        let all = |words: &[OsString]| words.iter().map(PathBuf::from).collect();
        match self.words.split_last() {
            Some((target, sources)) if !self.nearby && !sources.is_empty() => (all(sources), Some(target)),
            _ => (all(&self.words), None),
        }
    }
}

/// `ringway pair`.
#[derive(Debug, Args)]
pub(crate) struct PairArgs {
    /// The receiver: HOST[:PORT], or the name or id of a paired device
    pub(crate) target: String,
    #[command(flatten)]
    pub(crate) code: CodeArgs,
    #[command(flatten)]
    pub(crate) reporting: ReportingArgs,
}

/// `ringway devices`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct DevicesArgs {
    /// List the receivers that announce themselves on the local network now; nothing proves what
    /// they say about themselves
    #[arg(long)]
    pub(crate) nearby: bool,
    /// What to do; without it, list them
    #[command(subcommand)]
    pub(crate) action: Option<DevicesAction>,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// What to do with the known devices.
#[derive(Debug, Subcommand)]
pub(crate) enum DevicesAction {
    /// List them (the default)
    List,
    /// Give a device another name on this device
    Rename {
        /// Its name or the beginning of its id
        old: String,
        /// Its new name
        new: String,
    },
    /// Forget a device: it must pair again before it may send or be sent to
    ///
    /// Its transfers on this device end within about a second, also those of the service and of
    /// other commands, and their unfinished files are removed. What the device sent before stays,
    /// and so does what was interrupted earlier, for a week.
    Forget {
        /// Its name or the beginning of its id
        device: String,
    },
    /// Show or set a device's rule: what happens to its offers before a person is asked
    Rule(RuleArgs),
}

/// `ringway inbox`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true)]
pub(crate) struct InboxArgs {
    /// What to do; without it, list what was received
    #[command(subcommand)]
    pub(crate) action: Option<InboxAction>,
    /// Show what was sent from here instead
    #[arg(long, conflicts_with = "all")]
    pub(crate) sent: bool,
    /// Everything: what was received and sent, and copies that the window made
    #[arg(long)]
    pub(crate) all: bool,
    /// Only transfers that failed, or in which an entry failed
    #[arg(long)]
    pub(crate) failed: bool,
    /// Only transfers with this text in their names, paths or device
    #[arg(long, value_name = "TEXT")]
    pub(crate) search: Option<String>,
    /// The number of transfers to show, latest first
    #[arg(short = 'n', long, value_name = "COUNT", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..))]
    pub(crate) limit: u32,
    /// Only transfers before this number
    #[arg(long, value_name = "NUMBER")]
    pub(crate) before: Option<u64>,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// What to do with past transfers.
#[derive(Debug, Subcommand)]
pub(crate) enum InboxAction {
    /// Show everything that is known of a transfer: the names that failed, its rate, where its
    /// files are
    Show {
        /// Its number in the list
        number: u64,
    },
    /// Forget a transfer; the files that it brought stay
    Forget {
        /// Its number in the list
        number: u64,
    },
    /// Forget all transfers; the files that they brought stay. Notes that were read are deleted
    Clear {
        /// Only transfers that ended this many days ago or earlier
        #[arg(long, value_name = "DAYS")]
        older_than: Option<u32>,
    },
    /// List the hidden files of unfinished transfers, which the same send or get again continues
    Unfinished {
        /// Look in this folder instead of in the receive folder, the folders of rules and those of
        /// past transfers
        #[arg(long = "in", value_name = "FOLDER")]
        folders: Vec<PathBuf>,
    },
    /// Remove the hidden files of unfinished transfers; the same send or get again then starts from
    /// the beginning
    Discard(DiscardArgs),
}

/// `ringway inbox discard`.
#[derive(Debug, Args)]
pub(crate) struct DiscardArgs {
    /// Which ones, by the ids in `ringway inbox unfinished`
    #[arg(required_unless_present = "all", conflicts_with = "all", value_name = "ID")]
    pub(crate) ids: Vec<String>,
    /// All, except those of a running transfer
    #[arg(long)]
    pub(crate) all: bool,
    /// Look in this folder instead of in the receive folder, the folders of rules and those of past
    /// transfers
    #[arg(long = "in", value_name = "FOLDER")]
    pub(crate) folders: Vec<PathBuf>,
}

/// `ringway settings`.
#[derive(Debug, Args)]
pub(crate) struct SettingsArgs {
    /// The name under which others see this device
    #[arg(long)]
    pub(crate) name: Option<String>,
    /// The port to listen on
    #[arg(long, value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) port: Option<u16>,
    /// The folder that the window and the service receive into. Default: the downloads folder, or
    /// if there is none, Ringway in the home folder
    #[arg(long, value_name = "DIR")]
    pub(crate) receive_folder: Option<PathBuf>,
    #[command(flatten)]
    pub(crate) home: HomeArgs,
    /// The most bytes a second that a transfer without its own --limit is sent at, written as for
    /// --limit; none removes the limit
    #[arg(long, value_name = "RATE", value_parser = LimitArg::parse)]
    pub(crate) limit: Option<LimitArg>,
    /// Whether this device's receivers are announced on the local network
    #[arg(long, value_enum)]
    pub(crate) announce: Option<SwitchArg>,
    /// Whether a service that the window started continues to receive after the window is closed
    #[arg(long, value_enum)]
    pub(crate) background: Option<SwitchArg>,
    /// Whether the service listens; off declines offers that wait for an answer, serves no shared
    /// folders, and lets running transfers continue
    #[arg(long, value_enum)]
    pub(crate) receiving: Option<SwitchArg>,
    /// Whether the service keeps POSIX access control lists of what it receives and gets, as with
    /// --acls of recv, get and serve
    #[arg(long, value_enum)]
    pub(crate) acls: Option<SwitchArg>,
    /// Whether the service starts when this user logs in: with its systemd unit if that is
    /// installed, else with the desktop's autostart
    #[arg(long, value_enum)]
    pub(crate) start_at_login: Option<SwitchArg>,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// On or off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum SwitchArg {
    On,
    Off,
}

/// Where the code comes from.
#[derive(Debug, Args)]
pub(crate) struct CodeArgs {
    /// Read the code or standing secret from FILE (- is standard input) instead of from
    /// RINGWAY_CODE or a prompt. `ringway recv` expects this code instead of a random one
    #[arg(long, value_name = "FILE")]
    pub(crate) code_file: Option<PathBuf>,
}

/// Which of the fast paths and fallbacks to use at this end.
#[derive(Debug, Args)]
pub(crate) struct PathArgs {
    /// What encrypts at this end: the kernel, userspace, or the kernel if it can
    #[arg(long, value_parser = one_of(TLS), default_value = "auto")]
    pub(crate) tls: TlsMode,
    /// How files are read and written at this end: io_uring, plain system calls, or whichever is
    /// faster
    #[arg(long, value_parser = one_of(IO), default_value = "auto")]
    pub(crate) io: IoMode,
}

/// How much is reported, and how.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct ReportingArgs {
    /// Print nothing but errors, questions and codes
    #[arg(short, long, conflicts_with = "verbose")]
    pub(crate) quiet: bool,
    /// Print more: identities, the paths taken and why, how the time was spent, every failed file
    #[arg(short, long)]
    pub(crate) verbose: bool,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// Whether a program reads the output.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct ReportArgs {
    /// Print one JSON object per line, and ask nothing
    #[arg(long, global = true)]
    pub(crate) json: bool,
}

/// The values of an option, each with its help.
type Choices<T> = &'static [(&'static str, &'static str, T)];

/// `--on-conflict`.
pub(crate) const ON_CONFLICT: Choices<OnConflict> = &[
    ("replace", "Replace files whose size or time differs", OnConflict::Replace),
    ("keep", "Keep the existing files", OnConflict::Keep),
    ("rename", "Keep both: the new file's name gets a number", OnConflict::Rename),
    (
        "update",
        "Keep both, or update the previous copy from the same device: files that were edited here stay, and their new versions get a number",
        OnConflict::RenameTop,
    ),
];

/// `--compress`.
pub(crate) const COMPRESS: Choices<Compression> =
    &[("auto", "While it saves time", Compression::Auto), ("off", "Never", Compression::Off)];

/// `--delta`.
pub(crate) const DELTA: Choices<Delta> = &[
    ("auto", "While the network is slower than comparing", Delta::Auto),
    ("on", "Always", Delta::On),
    ("off", "Never", Delta::Off),
];

/// `--tls`.
pub(crate) const TLS: Choices<TlsMode> = &[
    ("auto", "The kernel if it can, else userspace", TlsMode::Auto),
    ("kernel", "The kernel, or fail", TlsMode::Kernel),
    ("user", "Userspace", TlsMode::User),
];

/// `--io`.
pub(crate) const IO: Choices<IoMode> = &[
    ("auto", "io_uring if it is available, else plain system calls", IoMode::Auto),
    ("uring", "io_uring, or fail", IoMode::Uring),
    ("sync", "Plain system calls", IoMode::Sync),
];

/// Parses one of these values.
pub(crate) fn one_of<T: Copy + Send + Sync + 'static>(choices: Choices<T>) -> impl TypedValueParser<Value = T> {
    let names = choices.iter().map(|(name, help, _)| PossibleValue::new(*name).help(*help));
    PossibleValuesParser::new(names).try_map(move |typed| {
        let chosen = choices.iter().find(|(name, ..)| *name == typed);
        chosen.map(|(.., value)| *value).ok_or("not one of the values")
    })
}

/// What one PATH of `send` means: with a slash at its end, the folder's contents, as in rsync. `.`
/// and `..` have no name to arrive under, so they mean contents too.
pub(crate) fn source(path: &Path) -> Source {
    let bytes = path.as_os_str().as_bytes();
    let last = bytes.rsplit(|byte| *byte == b'/').next().unwrap_or_default();
    Source { path: path.to_owned(), contents_only: matches!(last, b"" | b"." | b"..") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;
    use clap::error::ErrorKind;
    use std::ffi::OsString;
    use std::os::unix::ffi::OsStringExt;

    fn parse(line: &[&str]) -> Result<Command, clap::Error> {
        Cli::try_parse_from(std::iter::once("ringway").chain(line.iter().copied())).map(|cli| cli.command)
    }

    fn recv(line: &[&str]) -> RecvArgs {
        match parse(line) {
            Ok(Command::Recv(args)) => args,
            other => panic!("{other:?}"),
        }
    }

    fn send(line: &[&str]) -> SendArgs {
        match parse(line) {
            Ok(Command::Send(args)) => *args,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn the_definition_is_sound() {
        Cli::command().debug_assert();
    }

    #[test]
    fn recv_has_sensible_defaults() {
        let args = recv(&["recv"]);
        assert_eq!(args.dest, None);
        assert_eq!(args.listen, None);
        assert_eq!(args.landing.on_conflict, OnConflict::Replace);
        assert!(!args.once && !args.yes && !args.landing.kept.owner && !args.landing.setuid && !args.no_pairing);
        let args = recv(&["recv", "in", "--once", "--yes", "--on-conflict", "rename", "--tls", "user", "--io", "sync"]);
        assert_eq!(args.dest.as_deref(), Some(Path::new("in")));
        assert!(args.once && args.yes);
        assert_eq!(args.landing.on_conflict, OnConflict::Rename);
        assert_eq!((args.paths.tls, args.paths.io), (TlsMode::User, IoMode::Sync));
    }

    #[test]
    fn a_listen_address_that_is_none_is_refused() {
        let args = recv(&["recv", "--listen", "127.0.0.1:0"]);
        assert_eq!(args.listen, ListenAddress::parse("127.0.0.1:0").ok());
        assert_eq!(parse(&["recv", "--listen", "nonsense"]).unwrap_err().kind(), ErrorKind::ValueValidation);
    }

    #[test]
    fn the_last_argument_of_send_is_the_target() {
        let args = send(&["send", "a", "b/", "lab-ws"]);
        let paths = |paths: &[&str]| paths.iter().map(PathBuf::from).collect::<Vec<_>>();
        assert_eq!(args.sources_and_target(), (paths(&["a", "b/"]), Some(OsStr::new("lab-ws"))));
        assert_eq!(send(&["send", "a"]).sources_and_target(), (paths(&["a"]), None));
        assert_eq!(send(&["send", "a", "b", "--nearby"]).sources_and_target(), (paths(&["a", "b"]), None));
        let args = send(&["send", "a", "lab-ws:4000", "--json", "--lanes", "4", "--code-file", "-"]);
        assert_eq!(args.sources_and_target(), (paths(&["a"]), Some(OsStr::new("lab-ws:4000"))));
        assert_eq!(args.moving.lanes, Some(4));
        assert_eq!(args.code.code_file.as_deref(), Some(Path::new("-")));
        assert!(args.reporting.report.json && args.moving.limit.is_none());
        assert!(!args.moving.verify && send(&["send", "--verify", "a", "lab"]).moving.verify);
        let limit = |text| send(&["send", "a", "lab", "--limit", text]).moving.limit;
        assert_eq!(limit("none"), Some(LimitArg::Off));
        assert_eq!(limit("20M"), LimitArg::parse("20000000").ok());
    }

    #[test]
    fn wrong_usage_is_refused() {
        for bad in [
            &["send"][..],
            &["nonsense"],
            &["send", "--no-such", "a", "b"],
            &["send", "a", "b", "--code", "7-river-canal"],
            &["send", "a", "b", "--lanes", "0"],
            &["send", "a", "b", "--lanes", "99"],
            &["send", "a", "b", "--limit", "0"],
            &["send", "a", "b", "--limit", "fast"],
            &["settings", "--limit", "20Mb"],
            &["send", "a", "b", "--quiet", "--verbose"],
            &["recv", "a", "b"],
            &["recv", "--tls", "maybe"],
            &["devices", "--nearby", "list"],
            &["settings", "--announce", "perhaps"],
            &["settings", "--receiving"],
            &["recv", "--no-pairing", "--code-file", "x"],
            &["serve", "--grace", "10"],
            &["accept"],
            &["accept", "a", "b"],
            &["status", "x"],
            &["settings", "--port", "0"],
            &["devices", "rename", "x"],
            &["share", "add"],
            &["share", "remove"],
            &["share", "add", "x", "--with", "a", "--with-all"],
            &["ls"],
            &["ls", "a", "b"],
            &["ls", "-d", "-R", "a"],
        ] {
            assert_eq!(parse(bad).unwrap_err().exit_code(), 2, "{bad:?}");
        }
    }

    #[test]
    fn several_devices_may_be_named_for_a_share_and_none_must_be() {
        let with = |line: &[&str]| match parse(line) {
            Ok(Command::Share(ShareArgs { action: Some(ShareAction::Add { with, with_all, .. }), .. })) => {
                (with, with_all)
            }
            other => panic!("{other:?}"),
        };
        assert_eq!(with(&["share", "add", "x"]), (Vec::new(), false));
        assert_eq!(with(&["share", "add", "x", "--with", "a", "b"]).0, ["a", "b"]);
        assert_eq!(with(&["share", "add", "x", "--with", "a", "--with", "all"]).0, ["a", "all"]);
        assert!(with(&["share", "add", "x", "--with-all"]).1);
        assert!(matches!(parse(&["share", "--json"]), Ok(Command::Share(ShareArgs { action: None, .. }))));
    }

    #[test]
    fn a_slash_at_the_end_means_the_contents() {
        for (path, contents_only) in [
            ("a", false),
            ("a/", true),
            ("a//", true),
            ("/", true),
            (".", true),
            ("..", true),
            ("a/..", true),
            ("a/b", false),
            ("...", false),
        ] {
            let source = source(Path::new(path));
            assert_eq!((source.path.as_path(), source.contents_only), (Path::new(path), contents_only), "{path}");
        }
    }

    #[test]
    fn paths_need_not_be_utf_8() {
        let odd = OsString::from_vec(b"caf\xe9/".to_vec());
        let line = [OsString::from("ringway"), "send".into(), odd.clone(), "lab".into()];
        let Command::Send(args) = Cli::try_parse_from(line).unwrap().command else { panic!() };
        assert_eq!(args.sources_and_target().0, [PathBuf::from(odd)]);
        assert!(source(&args.sources_and_target().0[0]).contents_only);
    }
}
