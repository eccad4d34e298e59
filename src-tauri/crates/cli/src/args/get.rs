//! The options of `ringway get`.
use std::ffi::OsString;
use std::path::PathBuf;

use clap::Args;
use ringway_engine::{Reference, limits};

use super::{CodeArgs, CompressArg, ConflictArg, DeltaArg, HomeArgs, LimitArg, PathArgs, ReportingArgs, RetryArg};

pub(super) const GET_USAGE: &str = "ringway get [OPTIONS] <DEVICE:SHARE[/PATH]>... [DEST]";

pub(super) const GET_HELP: &str = "\
Examples:
  ringway get lab-ws:runs/2026-11-22        arrives as ./2026-11-22
  ringway get lab-ws:runs/2026-11-22/ now   its contents arrive in now
  ringway get lab-ws:runs/a lab-ws:runs/b . several things of one share
  ringway get lab-ws:runs /data --verify    the whole share, as /data/runs, read back and compared
  ringway get 10.0.0.7:runs/x               from an address

The other device shares folders with this one (`ringway share add` there) and runs `ringway serve`. This machine dials, also for all lanes, so that it may be behind a router or a firewall. Nobody has to be at the other device.

What is there already, by size and time, is not sent again. So the same command again continues what was interrupted.

Success is said only after everything was written, renamed and synchronised to this machine's disk.

The events of --json are listed in the manual: `ringway man`.";

/// `ringway get`.
#[derive(Debug, Args)]
pub(crate) struct GetArgs {
    /// What to get, of one share of one device: DEVICE is a paired device's name or id, or
    /// HOST[:PORT]. PATH/ with a slash gets a folder's contents, as with rsync. The last word, if
    /// it names no share, is DEST: the folder to receive into, which must exist. Default: the
    /// current folder
    #[arg(required = true, num_args = 1.., value_name = "DEVICE:SHARE[/PATH]")]
    pub(crate) words: Vec<OsString>,
    #[command(flatten)]
    pub(crate) code: CodeArgs,
    /// What happens to files that exist already and differ; nothing else is ever deleted
    #[arg(long, value_enum, default_value_t = ConflictArg::Replace)]
    pub(crate) on_conflict: ConflictArg,
    /// Keep numeric owner and group (as root)
    #[arg(long)]
    pub(crate) owner: bool,
    /// Keep setuid and setgid bits, which are otherwise dropped
    #[arg(long)]
    pub(crate) setuid: bool,
    /// With --on-conflict replace, give existing folders the other device's permissions even where
    /// these let more people in. Without it, permissions are only taken away from such folders
    #[arg(long)]
    pub(crate) modes: bool,
    #[command(flatten)]
    pub(crate) home: HomeArgs,
    /// Parallel connections. Default: as many as suit the processors and the distance, and more
    /// while the network limits and another one makes it faster
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=i64::from(limits::LANES_MAX)))]
    pub(crate) lanes: Option<u8>,
    /// Get no faster than RATE bytes a second over all connections together. K, M, G are powers of
    /// 1000, Ki, Mi, Gi of 1024. A limit in the settings of the other device holds as well
    #[arg(long, value_name = "RATE", value_parser = LimitArg::parse)]
    pub(crate) limit: Option<LimitArg>,
    /// Compress file contents on the way (Zstandard): while the network limits and compressing
    /// makes it faster, or never
    #[arg(long, value_enum, default_value_t = CompressArg::Auto)]
    pub(crate) compress: CompressArg,
    /// Get only the new parts of large files that have changed: when the network is slower than
    /// comparing them at both ends, always, or never
    #[arg(long, value_enum, default_value_t = DeltaArg::Auto)]
    pub(crate) delta: DeltaArg,
    /// Read everything back from the disk and compare it with what was read there (BLAKE3) before
    /// success is reported
    #[arg(long)]
    pub(crate) verify: bool,
    /// After the connection is lost, keep trying for TIME to continue, each time anew: as in 30s,
    /// 15m or 2h. Wait that long, too, if the other device is busy. no ends at once instead, also
    /// when the disk is full. Otherwise a full disk pauses the transfer until there is room
    #[arg(long, value_name = "TIME", value_parser = RetryArg::parse, default_value = "15m")]
    pub(crate) retry: RetryArg,
    /// TLS records after which a lane opens a new connection with new keys. Only for trying that
    /// out: fewer than is safe serve no other purpose
    #[arg(long, value_name = "N", hide = true)]
    pub(crate) records_per_key: Option<u64>,
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
