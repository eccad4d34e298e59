//! What can be measured, and the results: the types that programs show.
use std::io;
use std::path::PathBuf;
use std::time::Duration;

use ringway_model::{Fault, SyncIoReason, UserTlsReason};
use ringway_sys::instructions::NoCounter;

/// The files that are moved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Dataset {
    /// Files of 4 KB in folders of 1,000.
    Small,
    /// Files of 100 KB in folders of 1,000.
    Medium,
    /// One file.
    Huge,
}

/// How files are read and written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Calls {
    /// Plain system calls.
    Plain,
    /// io_uring.
    Uring,
}

/// How the connection is encrypted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cipher {
    /// Not at all: for measurements, between two threads of this process.
    Plaintext,
    /// Ringway's own TLS records, in userspace.
    User,
    /// By the kernel (kTLS), at both ends.
    Kernel,
}

/// One step of a transfer, by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layer {
    /// Files to memory.
    Read(Calls),
    /// Memory to a socket whose other end discards everything.
    Send(Cipher),
    /// Memory to TLS records in memory.
    Encrypt,
    /// A socket to memory; its other end sends from memory.
    Receive(Cipher),
    /// TLS records in memory to memory.
    Decrypt,
    /// Memory to files.
    Write(Calls),
}

/// How a mover moves bytes from a file to its socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outward {
    /// read(2) and send(2), a mebibyte at a time.
    ReadSend,
    /// The same by io_uring.
    UringReadSend,
    /// splice(2) through a pipe of 1 MiB.
    Splice,
    /// splice(2) through a pipe of 128 KiB, with `SPLICE_F_MORE` also after the last piece of a
    /// file, like uring-sync.
    SpliceAlwaysMore,
    /// splice by io_uring.
    UringSplice,
    /// sendfile(2).
    SendFile,
}

/// How a mover moves bytes from its socket to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Inward {
    /// recv(2) and write(2).
    ReceiveWrite,
    /// The same by io_uring.
    UringReceiveWrite,
    /// splice(2) through a pipe of 1 MiB.
    Splice,
}

/// What a row measures.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// One layer alone, on as many threads as there are lanes.
    Layer(Layer),
    /// Whole files, each after its length, and nothing else: no batches, no metadata, no names.
    Mover {
        /// How the sending end works.
        out: Outward,
        /// How the receiving end works.
        into: Inward,
        /// How the connection is encrypted.
        cipher: Cipher,
    },
    /// All layers together, as in a real transfer: walk, frames, metadata, staging, renames,
    /// synchronising.
    Transfer {
        /// How the connection is encrypted.
        cipher: Cipher,
        /// How the sending end reads.
        read: Calls,
        /// How the receiving end writes.
        write: Calls,
    },
}

/// Groups of modes that are selected together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// Each layer alone.
    Layers,
    /// Whole files without Ringway's framing.
    Movers,
    /// Whole transfers.
    Transfers,
}

/// An event of a measurement.
#[derive(Debug)]
pub enum ModesEvent {
    /// The first event.
    Began(Conditions),
    /// A dataset is about to be made.
    Making {
        /// The dataset.
        dataset: Dataset,
        /// Files.
        files: u64,
        /// Bytes of contents.
        bytes: u64,
    },
    /// A round begins. Round 0 does not count: it proves that every mode delivers exactly the right
    /// bytes.
    Round {
        /// The dataset.
        dataset: Dataset,
        /// Lanes.
        lanes: u8,
        /// From 0 to `rounds`.
        round: u32,
        /// Rounds that count.
        rounds: u32,
    },
    /// The result of one mode.
    Row(Row),
}

/// The conditions of the whole measurement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conditions {
    /// The folder in which everything is made and removed again.
    pub folder: PathBuf,
    /// The kind of its filesystem, by its common name.
    pub filesystem: &'static str,
    /// The kernel's release.
    pub kernel: String,
    /// Processors that this process may use.
    pub processors: usize,
    /// Rounds that count.
    pub rounds: u32,
    /// Why there are no rows of kernel TLS, if there are none.
    pub no_kernel_tls: Option<UserTlsReason>,
    /// Why there are no rows of io_uring, if there are none.
    pub no_io_uring: Option<SyncIoReason>,
    /// How instructions are counted, or why they are not.
    pub instructions: Result<InstructionSource, NoInstructions>,
}

/// The source of the figures of instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstructionSource {
    /// The processor's counter, of user mode and the kernel.
    Processor,
    /// The clock, which counts them according to the options: a nanosecond each, as under QEMU with
    /// `-icount shift=0`.
    Clock,
}

/// Why there are no figures of instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoInstructions {
    /// The kernel has no performance counters.
    NotInKernel,
    /// The processor has no counter, as in most virtual machines.
    NotInProcessor,
    /// Forbidden: sysctl kernel.perf_event_paranoid, or a container's policy.
    Forbidden,
    /// Another errno.
    Refused(i32),
}

impl From<NoCounter> for NoInstructions {
    fn from(reason: NoCounter) -> Self {
        match reason {
            NoCounter::NotInKernel => Self::NotInKernel,
            NoCounter::NotInProcessor => Self::NotInProcessor,
            NoCounter::Forbidden => Self::Forbidden,
            NoCounter::Errno(errno) => Self::Refused(errno),
        }
    }
}

/// The result of one mode on one dataset with one number of lanes.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// The mode.
    pub mode: Mode,
    /// The files; for layers without files, their number of bytes.
    pub dataset: Dataset,
    /// Lanes: threads at each end, and connections.
    pub lanes: u8,
    /// Files of the dataset.
    pub files: u64,
    /// Their bytes.
    pub bytes: u64,
    /// The figures, or why there are none.
    pub measured: Result<Figures, NotMeasured>,
}

/// Medians over the rounds.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    /// From the beginning of the first thread to the end of the last one.
    pub wall: Duration,
    /// The shortest round.
    pub wall_min: Duration,
    /// The longest round.
    pub wall_max: Duration,
    /// The sending end; `None` if a layer has only the other.
    pub sender: Option<EndFigures>,
    /// The receiving end; `None` if a layer has only the other.
    pub receiver: Option<EndFigures>,
    /// Processor time of the process that belongs to neither end: io_uring's worker threads, the
    /// walk, starting and ending threads.
    pub other_cpu: Duration,
    /// The bottleneck.
    pub bottleneck: LimitingEnd,
    /// The layer of this mode that took longest alone, on the same files with as many lanes; `None`
    /// if they were not all measured, and for layers.
    pub slowest_layer: Option<Layer>,
}

/// One end's threads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EndFigures {
    /// Their processor time together, by the threads' own clocks.
    pub cpu: Duration,
    /// The part of the wall time that the busiest of them was on a processor: 0 to 1.
    pub busy: f64,
    /// Their instructions together, in user mode and in the kernel, if they are counted.
    pub instructions: Option<u64>,
}

/// The bottleneck of a mode, as far as the two ends show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitingEnd {
    /// The sending end is busier.
    Sender,
    /// The receiving end is busier.
    Receiver,
    /// Work that belongs to neither end is busier than both: io_uring's worker threads, or the
    /// walk.
    Elsewhere,
    /// Neither is busy for half of the time: they wait for each other, or for a disk.
    Waiting,
}

/// Why a row has no figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotMeasured {
    /// There is no kernel TLS here.
    KernelTls(UserTlsReason),
    /// There is no io_uring here.
    IoUring(SyncIoReason),
    /// The bytes that arrived differ from those that were sent. So the mode has no figures.
    Differs,
    /// It failed, with this error of the kernel or the data plane.
    Failed(String),
}

impl NotMeasured {
    /// Whether this machine only lacks a feature that the mode needs.
    pub fn is_skipped(&self) -> bool {
        matches!(self, Self::KernelTls(_) | Self::IoUring(_))
    }
}

impl From<io::Error> for NotMeasured {
    fn from(error: io::Error) -> Self {
        Self::Failed(error.to_string())
    }
}

impl From<Fault> for NotMeasured {
    fn from(error: Fault) -> Self {
        Self::Failed(error.to_string())
    }
}

impl Dataset {
    /// All of them, the smallest files first.
    pub const ALL: [Self; 3] = [Self::Small, Self::Medium, Self::Huge];
}

impl Cipher {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Plaintext, Self::User, Self::Kernel];
}

impl Part {
    /// All of them.
    pub const ALL: [Self; 3] = [Self::Layers, Self::Movers, Self::Transfers];
}
