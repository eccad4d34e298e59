//! Measures on this machine alone which way bytes take best from files to files over a connection:
//! every layer by itself, movers of whole files without our framing, and the real data plane, each
//! with and without encryption. Words and tables are the programs' business.
//!
//! Both ends are threads of this process, connected over 127.0.0.1 under the same socket options as
//! lanes. Plaintext exists in here only, and only on such a pair: see [`loopback`].
#![forbid(unsafe_code)]

mod data;
mod layers;
pub mod limits;
mod loopback;
mod meter;
mod movers;
mod options;
mod plan;
#[cfg(test)]
mod tests;
mod transfers;
mod work;

use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use ringway_model::{Fault, Side, SyncIoReason, UserTlsReason};
use ringway_sys::instructions::{InstructionCounter, NoCounter};

use data::Data;
use loopback::Wire;
use meter::{Counting, Round, median};
pub use options::{ModesOptions, Sizes};
use work::Work;

/// Which files are moved.
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

/// Who encrypts what is on the connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Cipher {
    /// Nobody: for measuring, between two threads of this process.
    Plaintext,
    /// TLS records of our own, in userspace.
    User,
    /// The kernel (kTLS), at both ends.
    Kernel,
}

/// One step of what a transfer does, by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Layer {
    /// Files to memory.
    Read(Calls),
    /// Memory to a socket whose other end throws away what comes.
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

/// How a mover takes bytes from a file to its socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outward {
    /// read(2) and send(2), a mebibyte at a time.
    ReadSend,
    /// The same by io_uring.
    UringReadSend,
    /// splice(2) through a pipe of 1 MiB.
    Splice,
    /// splice(2) through a pipe of 128 KiB, with `SPLICE_F_MORE` behind the last piece of a file as
    /// well: what uring-sync does.
    SpliceAlwaysMore,
    /// splice by io_uring.
    UringSplice,
    /// sendfile(2).
    SendFile,
}

/// How a mover takes bytes from its socket to a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Inward {
    /// recv(2) and write(2).
    ReceiveWrite,
    /// The same by io_uring.
    UringReceiveWrite,
    /// splice(2) through a pipe of 1 MiB.
    Splice,
}

/// What is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Mode {
    /// One layer alone, on as many threads as there are lanes.
    Layer(Layer),
    /// Whole files, each behind its length, and nothing else: no batches, no metadata, no names.
    Mover {
        /// At the sending end.
        out: Outward,
        /// At the receiving end.
        into: Inward,
        /// On the connection.
        cipher: Cipher,
    },
    /// All layers together, as in a real transfer: walk, frames, metadata, staging, renames,
    /// synchronising.
    Transfer {
        /// On the connection.
        cipher: Cipher,
        /// At the sending end.
        read: Calls,
        /// At the receiving end.
        write: Calls,
    },
}

/// Groups of modes that are asked for together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Part {
    /// Each layer alone.
    Layers,
    /// Whole files without our framing.
    Movers,
    /// All together.
    Transfers,
}

/// What happens while it is measured.
#[derive(Debug)]
pub enum ModesEvent {
    /// First of all.
    Began(Conditions),
    /// A dataset is about to be made: so many files, so many bytes.
    Making {
        /// Which.
        dataset: Dataset,
        /// Files.
        files: u64,
        /// Bytes of contents.
        bytes: u64,
    },
    /// A round begins. Round 0 is not counted: it proves that every mode delivers exactly the
    /// bytes.
    Round {
        /// Of which files.
        dataset: Dataset,
        /// Lanes.
        lanes: u8,
        /// From 0 to `rounds`.
        round: u32,
        /// Rounds that count.
        rounds: u32,
    },
    /// The last word on one mode.
    Row(Row),
}

/// Under what all of it is measured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conditions {
    /// The folder in which everything is made and removed again.
    pub folder: PathBuf,
    /// The kind of its filesystem, as people call it.
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

/// Where figures of instructions come from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum InstructionSource {
    /// The processor's counter, of user mode and the kernel.
    Processor,
    /// The clock, which somebody has said counts them: a nanosecond each, as under QEMU with
    /// `-icount shift=0`.
    Clock,
}

/// Why there are no figures of instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoInstructions {
    /// The kernel has no performance counters.
    NotInKernel,
    /// The processor offers none: so it is in most virtual machines.
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

/// What came of one mode on one dataset with so many lanes.
#[derive(Debug, Clone, PartialEq)]
pub struct Row {
    /// What was measured.
    pub mode: Mode,
    /// On which files; of layers without files, on as many bytes as those have.
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
    /// From the first thread's beginning to the last one's end.
    pub wall: Duration,
    /// The shortest round.
    pub wall_min: Duration,
    /// The longest round.
    pub wall_max: Duration,
    /// The sending end; none where a layer has only the other.
    pub sender: Option<EndFigures>,
    /// The receiving end; none where a layer has only the other.
    pub receiver: Option<EndFigures>,
    /// Processor time of the process that is neither end's own: io_uring's worker threads, the
    /// walk, starting and ending threads.
    pub other_cpu: Duration,
    /// Which end is in the way.
    pub bottleneck: LimitingEnd,
    /// Which layer, among those that this mode consists of, took longest alone on the same files
    /// with as many lanes; none where they were not measured, and for layers.
    pub slowest_layer: Option<Layer>,
}

/// One end's threads.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EndFigures {
    /// Their processor time together, by the threads' own clocks.
    pub cpu: Duration,
    /// The part of the wall time that the busiest of them was on a processor: 0 to 1.
    pub busy: f64,
    /// Their instructions together, in user mode and in the kernel, where they are counted.
    pub instructions: Option<u64>,
}

/// What keeps a mode from being faster, as far as the two ends show it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum LimitingEnd {
    /// The sending end is busier.
    Sender,
    /// The receiving end is busier.
    Receiver,
    /// What is neither end's is busier than both: io_uring's worker threads, or the walk.
    Elsewhere,
    /// Nothing is busy for half of the time: they wait for each other, or for a disk.
    Waiting,
}

/// Why a row has no figures.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum NotMeasured {
    /// There is no kernel TLS here.
    KernelTls(UserTlsReason),
    /// There is no io_uring here.
    IoUring(SyncIoReason),
    /// What arrived is not what was sent. Nothing else about this mode is worth knowing.
    Differs,
    /// It failed: what the kernel or the data plane said.
    Failed(String),
}

impl NotMeasured {
    /// Whether this machine merely lacks what the mode needs.
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

/// Measures everything that is asked for, one row after the other, and removes what it has made,
/// however it ends. Blocks: for a thread of its own. Setting `stop` ends it within moments.
///
/// # Errors
/// [`Fault::Invalid`] for options that make no sense, [`Fault::Path`] for a folder that cannot be
/// used or has too little room, and [`Fault::Cancelled`]. A mode that fails is a row that says so.
pub fn run(options: &ModesOptions, stop: &AtomicBool, tell: &mut dyn FnMut(ModesEvent)) -> Result<(), Fault> {
    options.check()?;
    let work = Work::begin(options)?;
    let (source, counting) = instruction_source(options.clock_counts_instructions);
    tell(ModesEvent::Began(Conditions {
        folder: work.path().to_owned(),
        filesystem: work.filesystem(),
        kernel: ringway_sys::probe::kernel_release(),
        processors: std::thread::available_parallelism().map_or(1, usize::from),
        rounds: options.rounds,
        no_kernel_tls: plan::no_kernel_tls(),
        no_io_uring: plan::no_io_uring(),
        instructions: source,
    }));
    let bench = Bench { options, wire: Wire::new()?, work: &work, counting, stop };
    for dataset in Dataset::ALL.into_iter().filter(|dataset| options.datasets.contains(dataset)) {
        let (files, file_len) = options.sizes.of(dataset);
        tell(ModesEvent::Making { dataset, files, bytes: files * file_len });
        let data =
            Data::make(&work.path().join("data"), dataset, files, file_len, stop).map_err(|error| match error {
                _ if stop.load(Ordering::Relaxed) => Fault::Cancelled { by: Side::Here },
                source => work.error(source),
            })?;
        work.settle().map_err(|source| work.error(source))?;
        for lanes in options.lanes_in_order() {
            bench.measure(&data, lanes, tell)?;
        }
        data.remove().map_err(|source| work.error(source))?;
    }
    Ok(())
}

fn instruction_source(clock: bool) -> (Result<InstructionSource, NoInstructions>, Counting) {
    match InstructionCounter::start() {
        _ if clock => (Ok(InstructionSource::Clock), Counting::Clock),
        Ok(_) => (Ok(InstructionSource::Processor), Counting::Processor),
        Err(reason) => (Err(reason.into()), Counting::Nothing),
    }
}

/// What all modes are measured with.
struct Bench<'b> {
    options: &'b ModesOptions,
    wire: Wire,
    work: &'b Work,
    counting: Counting,
    stop: &'b AtomicBool,
}

/// One mode, and what came of it so far.
struct Cell {
    mode: Mode,
    rounds: Result<Vec<Round>, NotMeasured>,
}

impl Bench<'_> {
    /// All modes on one dataset with so many lanes: a round of each, then the next round of each,
    /// so that whatever else goes on meets all alike.
    fn measure(&self, data: &Data, lanes: u8, tell: &mut dyn FnMut(ModesEvent)) -> Result<(), Fault> {
        let cell = |mode| Cell { mode, rounds: plan::unavailable(mode).map_or_else(|| Ok(Vec::new()), Err) };
        let mut cells: Vec<Cell> = plan::modes(self.options, data.dataset()).into_iter().map(cell).collect();
        let rounds = self.options.rounds;
        for round in 0..=rounds {
            tell(ModesEvent::Round { dataset: data.dataset(), lanes, round, rounds });
            for cell in &mut cells {
                let Ok(so_far) = &mut cell.rounds else { continue };
                match self.run_once(cell.mode, data, lanes, round == 0) {
                    _ if self.stop.load(Ordering::Relaxed) => return Err(Fault::Cancelled { by: Side::Here }),
                    Ok(done) if round > 0 => so_far.push(done),
                    Ok(_) => {}
                    Err(why) => cell.rounds = Err(why),
                }
            }
        }
        let layers: Vec<(Layer, Duration)> = cells.iter().filter_map(Cell::layer).collect();
        for cell in cells {
            let slowest_layer = plan::slowest(cell.mode, &layers);
            tell(ModesEvent::Row(Row {
                mode: cell.mode,
                dataset: data.dataset(),
                lanes,
                files: data.files(),
                bytes: data.bytes(),
                measured: cell.rounds.map(|rounds| meter::figures(&rounds, slowest_layer)),
            }));
        }
        Ok(())
    }

    /// One run. With `prove` what was delivered is compared with what there was to deliver, outside
    /// of what is measured.
    fn run_once(&self, mode: Mode, data: &Data, lanes: u8, prove: bool) -> Result<Round, NotMeasured> {
        let run = match mode {
            Mode::Layer(layer) => layers::run(self, layer, data, lanes, prove),
            Mode::Mover { out, into, cipher } => movers::run(self, (out, into, cipher), data, lanes, prove),
            Mode::Transfer { cipher, read, write } => transfers::run(self, cipher, (read, write), data, lanes, prove),
        };
        let cleared = self.work.clear();
        let round = run?;
        cleared?;
        Ok(round)
    }

    /// Ends a thread's work when all is to end.
    fn check(&self) -> io::Result<()> {
        check(self.stop)
    }
}

impl Cell {
    fn layer(&self) -> Option<(Layer, Duration)> {
        match (self.mode, &self.rounds) {
            (Mode::Layer(layer), Ok(rounds)) => Some((layer, median(rounds.iter().map(|round| round.wall).collect()))),
            _ => None,
        }
    }
}

/// Why a thread ended before its end: not `Interrupted`, which means try again.
fn check(stop: &AtomicBool) -> io::Result<()> {
    if stop.load(Ordering::Relaxed) { Err(io::ErrorKind::ConnectionAborted.into()) } else { Ok(()) }
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
