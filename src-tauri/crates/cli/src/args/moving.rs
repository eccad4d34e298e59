//! The options that several commands have alike: how entries move between two devices, and how they
//! land.
use clap::Args;
use ringway_engine::{AcceptOptions, KeptAttributes, TransferOptions, limits};
use ringway_model::{Compression, Delta, OnConflict};

use super::{COMPRESS, DELTA, HomeArgs, LimitArg, ON_CONFLICT, PathArgs, RetryArg, one_of};
use crate::refusal::Refusal;

/// How entries move, for the command that dials: `send` and `get`.
#[derive(Debug, Clone, Copy, Args)]
pub(crate) struct MovingArgs {
    /// Parallel connections. Default: as many as suit the processors and the distance, and more
    /// while the network is the bottleneck and each makes the transfer faster
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=i64::from(limits::LANES_MAX)))]
    pub(crate) lanes: Option<u8>,
    /// Move no faster than RATE bytes a second over all connections together. K, M, G are powers of
    /// 1000, Ki, Mi, Gi of 1024. Default: the limit in the settings of the device that sends; for
    /// send, none lifts that one for this transfer
    #[arg(long, value_name = "RATE", value_parser = LimitArg::parse)]
    pub(crate) limit: Option<LimitArg>,
    /// Compress file contents on the way (Zstandard): while the network limits and compressing
    /// makes it faster, or never
    #[arg(long, value_parser = one_of(COMPRESS), default_value = "auto")]
    pub(crate) compress: Compression,
    /// Move only the new parts of large files that have changed: when the network is slower than
    /// comparing them at both ends, always, or never
    #[arg(long, value_parser = one_of(DELTA), default_value = "auto")]
    pub(crate) delta: Delta,
    /// Have everything read back from the receiving disk and compared with what was read from the
    /// source (BLAKE3) before success is reported
    #[arg(long)]
    pub(crate) verify: bool,
    /// After the connection is lost, keep trying for TIME to continue, each time anew: as in 30s,
    /// 15m or 2h. Wait that long for a place, too, if the other device is busy with other
    /// transfers. no ends at once instead, also when the receiving disk is full. Otherwise a full
    /// disk pauses the transfer until there is free space or the receiver is told to continue
    /// (Ctrl-Z and fg, or kill -CONT, there)
    #[arg(long, value_name = "TIME", value_parser = RetryArg::parse, default_value = "15m")]
    pub(crate) retry: RetryArg,
    /// End when the other device takes or sends nothing, or less than 100 bytes a second, for TIME
    /// while there is data to move, as in 90s, 10m or 2h; no waits for ever. Pauses do not count,
    /// nor does time in which the other device says that it works on its disk or keeps to a limit:
    /// that has its own limit of 2 hours, plus a second for each MiB
    #[arg(long, value_name = "TIME", value_parser = RetryArg::parse, default_value = "10m")]
    pub(crate) timeout: RetryArg,
    /// TLS records after which a lane opens a new connection with new keys. Only for trying that
    /// out: fewer than is safe serve no other purpose
    #[arg(long, value_name = "N", hide = true)]
    pub(crate) records_per_key: Option<u64>,
}

impl MovingArgs {
    /// The same for the engine, with the limit that was typed, if one was.
    pub(crate) fn options(&self, paths: &PathArgs) -> TransferOptions {
        TransferOptions {
            tls: paths.tls,
            io: paths.io,
            lanes: self.lanes,
            compression: self.compress,
            delta: self.delta,
            limit: self.limit.and_then(LimitArg::limit),
            verify: self.verify,
            records_per_key: self.records_per_key,
            retry: self.retry.time(),
            timeout: self.timeout.time(),
            ..TransferOptions::default()
        }
    }
}

/// What is kept of owners and access control lists, for `recv`, `get` and `serve`.
#[derive(Debug, Args)]
pub(crate) struct KeptArgs {
    /// Keep owner and group (as root): the user and group of the same name, where there is one
    /// here, else those of the same number. Root stays root, and no name makes anybody root
    #[arg(long)]
    pub(crate) owner: bool,
    /// With --owner or --acls, keep the numbers of users and groups, whatever their names are
    #[arg(long)]
    pub(crate) numeric_ids: bool,
    /// Keep POSIX access control lists, for users and groups of the same names, as --owner does.
    /// A list can give access to others than the mode does. Without this option lists are dropped
    /// and counted, and the file's group gets the permissions of its own entry
    #[arg(long)]
    pub(crate) acls: bool,
}

impl KeptArgs {
    /// # Errors
    /// What has no effect, or only root may do, is asked for.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        if self.numeric_ids && !self.owner && !self.acls {
            return Err(Refusal::usage("--numeric-ids has no effect without --owner or --acls.")
                .advise("Add one of these, or leave --numeric-ids out."));
        }
        check_landing(self.owner)
    }

    /// The same for the engine.
    pub(crate) fn attributes(&self) -> KeptAttributes {
        let &Self { owner, numeric_ids, acls } = self;
        KeptAttributes { owner, numeric_ids, acls }
    }
}

/// How entries land, for the command that receives: `recv` and `get`.
#[derive(Debug, Args)]
pub(crate) struct LandingArgs {
    /// What happens to files that exist already and differ; nothing else is ever deleted
    #[arg(long, value_parser = one_of(ON_CONFLICT), default_value = "replace")]
    pub(crate) on_conflict: OnConflict,
    #[command(flatten)]
    pub(crate) kept: KeptArgs,
    /// Keep setuid and setgid bits, which are otherwise dropped
    #[arg(long)]
    pub(crate) setuid: bool,
    /// With --on-conflict replace, give existing folders the other device's permissions even where
    /// these let more people in. Without it, permissions are only taken away from such folders
    #[arg(long)]
    pub(crate) modes: bool,
    #[command(flatten)]
    pub(crate) home: HomeArgs,
}

impl LandingArgs {
    /// # Errors
    /// What has no effect, or only root may do, is asked for.
    pub(crate) fn check(&self) -> Result<(), Refusal> {
        self.kept.check()
    }

    /// The same for the engine.
    pub(crate) fn accept_options(&self) -> AcceptOptions {
        AcceptOptions {
            on_conflict: self.on_conflict,
            kept: self.kept.attributes(),
            keep_setuid: self.setuid,
            into_home: self.home.into_home(),
            widen_modes: self.modes,
            ..AcceptOptions::default()
        }
    }
}

/// # Errors
/// What only root may do is asked of somebody else.
pub(crate) fn check_landing(keeps_owner: bool) -> Result<(), Refusal> {
    if keeps_owner && !rustix::process::geteuid().is_root() {
        return Err(Refusal::usage("--owner needs root: nobody else may give files away.")
            .advise("Run it with sudo, or leave --owner out: what arrives is then yours."));
    }
    Ok(())
}
