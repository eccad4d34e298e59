//! `ringway bench modes`: what is to be measured, by its words.
#[cfg(test)]
mod tests;

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use ringway_bench::limits;
use ringway_bench::{Cipher, Dataset, ModesOptions, Part, Sizes};

use crate::args::ReportArgs;

const MODES_HELP: &str = "\
Examples:
  ringway bench modes                                 everything, some minutes
  ringway bench modes --part movers --data huge --tls kernel  read and send against splice and sendfile, over kernel TLS
  ringway bench modes --part transfers --lanes 1,2,4  whole transfers, by their number of lanes
  ringway bench modes --at /mnt/disk --small 2000     on another filesystem, with fewer small files

Both ends are threads of this one process over 127.0.0.1, so the rates say which way costs less, not what a network carries. Plaintext is there to compare with, between these threads only: Ringway never speaks it to another machine.

Before the rounds that count, every mode runs once to prove that exactly the bytes arrive. A mode that this machine lacks something for is named with the reason. What is made is removed again, after Ctrl-C as well.

Columns:
  MB/s        megabytes (1,000,000 bytes) of contents a second of wall time, the median of the rounds
  files/s     the same for files
  send, recv  processor seconds a GB at the sending and at the receiving end
  other       processor seconds a GB that are neither end's: io_uring's worker threads, the walk over the folders, starting and ending threads
  busy        how much of the time the busiest thread of the sending and of the receiving end was on a processor
  insn        thousands of instructions a MiB at the sending and at the receiving end, in user mode and in the kernel, where they are counted
  in the way  which end is busiest (elsewhere: what counts as other; waiting: nothing is busy for half of the time), and which of the layers that the mode consists of took longest alone

Modes:
  layer     one step alone: read files to memory, encrypt and decrypt in memory, send to a socket that is drained, receive to memory, write files
  mover     whole files, each behind its length, and nothing else
  transfer  what `ringway send` and `ringway recv` do from the walk to the synchronised files, without the session around it

Events of --json:
  conditions  first: folder, filesystem, kernel, processors, rounds, no_kernel_tls and no_io_uring (why there are no such rows) or null, instructions (processor, clock) or null, no_instructions (why not) or null
  measured    a row: part (layer, mover, transfer), mode, tls (plaintext, user, kernel) or null, dataset (small, medium, huge), files, bytes, lanes, state (measured, skipped, failed), reason or null; and where it is measured seconds, seconds_min, seconds_max, bytes_per_s, files_per_s, sender and receiver ({cpu_s, busy, instructions or null}) or null, other_cpu_s, bottleneck (sender, receiver, elsewhere, waiting), slowest_layer or null

Sizes given to --huge are binary: 512M is 536,870,912 bytes.

Exit status:
  0  everything was measured, or left out because this machine lacks something
  1  failed, stopped with Ctrl-C, or a mode failed or delivered other bytes
  2  wrong usage";

/// `ringway bench`.
#[derive(Debug, Args)]
pub(crate) struct BenchArgs {
    /// What to measure
    #[command(subcommand)]
    pub(crate) what: BenchCommand,
}

/// What to measure.
#[derive(Debug, Subcommand)]
pub(crate) enum BenchCommand {
    /// Measure which way of moving bytes is best on this machine: each layer, system call and kind
    /// of encryption by itself, and all together
    #[command(after_long_help = MODES_HELP)]
    Modes(ModesArgs),
}

impl BenchArgs {
    /// Whether a person or a program reads the output.
    pub(crate) fn report(&self) -> ReportArgs {
        match &self.what {
            BenchCommand::Modes(args) => args.report,
        }
    }
}

/// `ringway bench modes`.
#[derive(Debug, Args)]
pub(crate) struct ModesArgs {
    /// The folder to work in; everything made there is removed again. Default: /dev/shm, or if
    /// there is none, the folder for temporary files
    #[arg(long, value_name = "FOLDER")]
    at: Option<PathBuf>,
    /// Which groups of modes. Default: all
    #[arg(long, value_enum, value_delimiter = ',', value_name = "PART,...")]
    part: Vec<PartArg>,
    /// On which files. Default: all
    #[arg(long, value_enum, value_delimiter = ',', value_name = "DATA,...")]
    data: Vec<DataArg>,
    /// With which encryption. Default: all
    #[arg(long, value_enum, value_delimiter = ',', value_name = "TLS,...")]
    tls: Vec<CipherArg>,
    /// With how many lanes, one number after the other. Default: 1 and the number of processors, up
    /// to 4
    #[arg(long, value_delimiter = ',', value_name = "N,...", value_parser = clap::value_parser!(u8).range(1..=i64::from(limits::LANES_MAX)))]
    lanes: Vec<u8>,
    /// Rounds, interleaved; medians are shown
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..=i64::from(limits::ROUNDS_MAX)))]
    rounds: u32,
    /// Small files (4 KB)
    #[arg(long, value_name = "FILES", default_value_t = Sizes::default().small_files, value_parser = clap::value_parser!(u64).range(1..=limits::FILES_MAX))]
    small: u64,
    /// Medium files (100 KB)
    #[arg(long, value_name = "FILES", default_value_t = Sizes::default().medium_files, value_parser = clap::value_parser!(u64).range(1..=limits::FILES_MAX))]
    medium: u64,
    /// Bytes of the huge file, as in 512M or 2G
    #[arg(long, value_name = "SIZE", default_value = "512M", value_parser = size)]
    huge: u64,
    /// This machine's clock counts instructions, one a nanosecond (QEMU with -icount shift=0): show
    /// processor time as instructions, too
    #[arg(long)]
    instruction_clock: bool,
    #[command(flatten)]
    pub(crate) report: ReportArgs,
}

/// `--part`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum PartArg {
    /// Each layer alone
    Layers,
    /// Whole files by the plainest calls: read and send, splice, sendfile, io_uring
    Movers,
    /// All together, as in a real transfer
    Transfers,
}

/// `--data`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum DataArg {
    /// Files of 4 KB (no movers)
    Small,
    /// Files of 100 KB
    Medium,
    /// One file
    Huge,
}

/// `--tls`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum CipherArg {
    /// None, between threads of one process, for comparison
    Plaintext,
    /// Userspace
    User,
    /// The kernel
    Kernel,
}

impl From<PartArg> for Part {
    fn from(arg: PartArg) -> Self {
        match arg {
            PartArg::Layers => Self::Layers,
            PartArg::Movers => Self::Movers,
            PartArg::Transfers => Self::Transfers,
        }
    }
}

impl From<DataArg> for Dataset {
    fn from(arg: DataArg) -> Self {
        match arg {
            DataArg::Small => Self::Small,
            DataArg::Medium => Self::Medium,
            DataArg::Huge => Self::Huge,
        }
    }
}

impl From<CipherArg> for Cipher {
    fn from(arg: CipherArg) -> Self {
        match arg {
            CipherArg::Plaintext => Self::Plaintext,
            CipherArg::User => Self::User,
            CipherArg::Kernel => Self::Kernel,
        }
    }
}

impl ModesArgs {
    /// What to measure.
    pub(crate) fn options(&self) -> ModesOptions {
        let all = ModesOptions::default();
        ModesOptions {
            folder: self.at.clone(),
            datasets: chosen(&self.data, all.datasets),
            sizes: Sizes { small_files: self.small, medium_files: self.medium, huge_bytes: self.huge },
            parts: chosen(&self.part, all.parts),
            ciphers: chosen(&self.tls, all.ciphers),
            lanes: if self.lanes.is_empty() { all.lanes } else { self.lanes.clone() },
            rounds: self.rounds,
            clock_counts_instructions: self.instruction_clock,
        }
    }
}

/// The given values, or all if none is given.
fn chosen<A: Copy + Into<T>, T>(said: &[A], all: Vec<T>) -> Vec<T> {
    if said.is_empty() { all } else { said.iter().map(|arg| (*arg).into()).collect() }
}

/// A size in bytes with a binary unit, as in dd.
fn size(text: &str) -> Result<u64, String> {
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit: u64 = match unit.to_ascii_lowercase().as_str() {
        "" => 1,
        "k" | "kib" => 1 << 10,
        "m" | "mib" => 1 << 20,
        "g" | "gib" => 1 << 30,
        _ => return Err("a size is a number with K, M or G behind it, as in 512M".into()),
    };
    let bytes = number.parse::<u64>().ok().and_then(|number| number.checked_mul(unit));
    let most = limits::BYTES_MAX;
    bytes.filter(|bytes| (1..=most).contains(bytes)).ok_or_else(|| format!("a file here has 1 to {}G", most >> 30))
}
